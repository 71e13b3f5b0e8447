//! Words as a shell would take them apart again.

/// One line; words that a shell would change are quoted.
pub fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = words.map(quoted).collect();
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
    use super::joined;

    #[test]
    fn words_stay_apart_as_they_were() {
        let shown = |words: &[&str]| joined(words.iter().copied());
        assert_eq!(shown(&["cargo", "test", "-p=x"]), "cargo test -p=x");
        assert_eq!(shown(&["sh", "-c", "rm -rf \"$HOME\""]), "sh -c 'rm -rf \"$HOME\"'");
        assert_eq!(shown(&["echo", "", "it's"]), r"echo '' 'it'\''s'");
    }
}
