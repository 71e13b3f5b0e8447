//! Text of others, made fit to be shown.
//!
//! In: what a model or a command wrote. Out: text in which nothing hides: what a terminal would
//! obey, what turns the direction of reading, and what has no width is written out.
//!
//! Always true: nothing here gives back a control character other than newline and tab.

use std::fmt::Write as _;

/// A title is one line in a list.
const TITLE_CHARS: usize = 200;
/// More blanks than this, of whatever kind, push what follows out of sight; indented scripts have
/// fewer.
const MAX_BLANKS: usize = 32;

/// What somebody is asked to allow: every character can be seen, lines stay lines.
pub(crate) fn asked(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let blanks = || rest.chars().take_while(|next| is_blank(*next));
        let n_blanks = if is_blank(c) { blanks().count() } else { 0 };
        if n_blanks > MAX_BLANKS {
            let _ = write!(out, "⟨{n_blanks} blank characters⟩");
            rest = rest.get(blanks().map(char::len_utf8).sum()..).unwrap_or_default();
            continue;
        }
        match c {
            '\n' | '\t' => out.push(c),
            c if hides(c) => escape(c, &mut out),
            c => out.push(c),
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
    }
    out
}

/// As [`asked`], in one line.
pub(crate) fn one_line(text: &str) -> String {
    asked(text.trim()).replace('\n', " ⏎ ").replace('\t', " ")
}

/// As [`one_line`]; of a long text both ends and how long all of it is.
pub(crate) fn title(text: &str) -> String {
    let line = one_line(text);
    let n = line.chars().count();
    if n <= TITLE_CHARS {
        return line;
    }
    // Of what will run, not of how it is shown.
    let n_real = text.trim().chars().count();
    let half = TITLE_CHARS / 2;
    let head: String = line.chars().take(half).collect();
    let tail: String = line.chars().skip(n - half).collect();
    format!("{head} … {tail} ({n_real} characters)")
}

/// What a command printed, as its last screen would show it: without colours and what a
/// progress bar wrote over.
pub(crate) fn printed(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain = without_escapes(&text);
    let mut out = String::with_capacity(plain.len());
    for line in plain.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let last = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
        for c in last.chars() {
            match c {
                '\t' => out.push(c),
                // Joins the parts of an emoji, and hides nothing.
                '\u{200d}' => out.push(c),
                c if hides(c) => escape(c, &mut out),
                c => out.push(c),
            }
        }
        out.push_str(end);
    }
    out
}

/// A block of Markdown that shows `text` and obeys none of it.
pub(crate) fn fenced(language: &str, text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{end}{fence}")
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c == '\u{2800}'
}

/// Whether a reader would not see it, or see the text around it differently.
fn hides(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn escape(c: char, out: &mut String) {
    let _ = match u32::from(c) {
        code @ ..=0xff => write!(out, "\\x{code:02x}"),
        code => write!(out, "\\u{{{code:x}}}"),
    };
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
