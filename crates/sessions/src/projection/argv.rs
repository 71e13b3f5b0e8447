//! The words of a command as one line, in which each can still be told from the next.

/// As one would type it at a shell: a word that the shell would not take as it is stands in
/// quotes.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = String::new();
    for word in words {
        if !line.is_empty() {
            line.push(' ');
        }
        if is_plain(word) {
            line.push_str(word);
        } else {
            line.push('\'');
            line.push_str(&word.replace('\'', r"'\''"));
            line.push('\'');
        }
    }
    line
}

fn is_plain(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,+@%^".contains(c);
    !word.is_empty() && word.chars().all(is_plain)
}

#[cfg(test)]
mod tests;
