//! The arguments of a command as one line, from which a shell would read the same arguments again.

/// Joins the arguments; one that a shell would not take as it is stands in quotes.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.into_iter().map(quoted).collect();
    quoted.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn words_stay_apart_as_they_were() {
        let shown = |words: &[&str]| command_line(words.iter().copied());
        assert_eq!(shown(&["cargo", "test", "-p=x"]), "cargo test -p=x");
        assert_eq!(shown(&["sh", "-c", "rm -rf \"$HOME\""]), "sh -c 'rm -rf \"$HOME\"'");
        assert_eq!(shown(&["echo", "", "it's"]), r"echo '' 'it'\''s'");
        assert_eq!(shown(&["git", "show", "HEAD^"]), "git show 'HEAD^'");
    }
}
