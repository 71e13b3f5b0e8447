//! Text that a command wrote for a terminal, as plain text.
//!
//! In: any text. Out: what its last screen would show, line by line; other control characters
//! than those of a terminal's own language stay, for whoever shows it to deal with.

/// What a command printed, without colours and what a progress bar wrote over.
pub fn last_screen(text: &str) -> String {
    let plain = without_escapes(text);
    let mut out = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        out.push_str(line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default());
        out.push_str(end);
    }
    out
}

/// A block of Markdown that shows `text` and obeys none of it.
pub fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

/// Leaves out what ECMA-48 calls control sequences and strings.
fn without_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let introducer = match c {
            '\u{1b}' => chars.next(),
            '\u{9b}' => Some('['),
            '\u{9d}' => Some(']'),
            _ => {
                out.push(c);
                continue;
            }
        };
        match introducer {
            // Parameters, then one final character.
            Some('[') => {
                while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
                let _ = chars.next_if(|c| matches!(c, '@'..='~'));
            }
            // A string, ended by BEL or ST; an unended one does not swallow the next line.
            Some(']' | 'P' | 'X' | '^' | '_') => loop {
                match chars.next_if(|c| *c != '\n') {
                    None | Some('\u{7}' | '\u{9c}') => break,
                    Some('\u{1b}') => {
                        let _ = chars.next_if_eq(&'\\');
                        break;
                    }
                    Some(_) => {}
                }
            },
            // A character set takes one more character.
            Some('(' | ')' | '*' | '+' | '#' | '%') => {
                let _ = chars.next_if(|c| *c != '\n');
            }
            Some('\n') => out.push('\n'),
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests;
