//! The words after a command.
//!
//! In: the rest of the line. Out: words and numbers one by one, or the remaining text.
//! A missing or unreadable argument is [`Usage`], which tells the user the command's syntax.

use std::str::FromStr;

/// The arguments do not fit the command.
pub(super) struct Usage;

pub(super) struct Arguments<'a> {
    rest: &'a str,
}

impl<'a> Arguments<'a> {
    pub(super) fn new(rest: &'a str) -> Self {
        Self { rest: rest.trim() }
    }

    pub(super) fn word(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let (word, rest) = self.rest.split_once(char::is_whitespace).unwrap_or((self.rest, ""));
        self.rest = rest.trim_start();
        Some(word)
    }

    pub(super) fn need_word(&mut self) -> Result<&'a str, Usage> {
        self.word().ok_or(Usage)
    }

    pub(super) fn number<T: FromStr>(&mut self) -> Result<T, Usage> {
        self.need_word()?.parse().map_err(|_| Usage)
    }

    pub(super) fn number_or<T: FromStr>(&mut self, default: T) -> Result<T, Usage> {
        match self.word() {
            Some(word) => word.parse().map_err(|_| Usage),
            None => Ok(default),
        }
    }

    pub(super) fn rest(self) -> &'a str {
        self.rest
    }

    pub(super) fn need_rest(self) -> Result<&'a str, Usage> {
        if self.rest.is_empty() { Err(Usage) } else { Ok(self.rest) }
    }

    /// The remaining words as an argv. Quotes keep words together, as in a shell, and that is all
    /// they do.
    pub(super) fn argv(self) -> Result<Vec<String>, Usage> {
        let mut argv = Vec::new();
        let mut word: Option<String> = None;
        let mut quote = None;
        for character in self.rest.chars() {
            match quote {
                Some(open) if character == open => quote = None,
                None if character == '"' || character == '\'' => {
                    quote = Some(character);
                    word.get_or_insert_default();
                }
                None if character.is_whitespace() => argv.extend(word.take()),
                Some(_) | None => word.get_or_insert_default().push(character),
            }
        }
        argv.extend(word);
        if quote.is_some() || argv.is_empty() { Err(Usage) } else { Ok(argv) }
    }
}

#[cfg(test)]
mod tests;
