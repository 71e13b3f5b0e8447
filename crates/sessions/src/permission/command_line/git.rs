//! Commands that git runs: its own, and those that these are given to run.

use super::callbacks::hides_command;
use super::option_values::values;
use super::programs::OPTIONS_OF_GIT;
use super::{ANYTHING, CommandSearch, PATH, Word, with_options_marked};

/// Options of git's commands that have a line as their value.
const LINE_OPTIONS: &[&str] =
    &["exec", "extcmd", "open-files-in-pager", "receive-pack", "upload-pack"];

/// Prefixes of configuration keys that have nothing to do with what is run.
const PLAIN_KEYS: &[&str] = &["advice.", "author.", "color.", "committer.", "user."];

/// Whether a variable or the like may make several words of it, with options among them.
fn is_several(word: &Word) -> bool {
    word.is_open || word.makes_options
}

impl CommandSearch {
    /// `git -C . push` is `git push`; some of its commands run others.
    pub(super) fn git(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        let mut n = 0;
        while let Some(word) = rest.get(n).filter(|word| word.text.starts_with('-')) {
            let has_value = OPTIONS_OF_GIT.contains(&word.text.as_str());
            n += if has_value { 2 } else { 1 };
            let given = rest.get(n - 1)?;
            let name = word.text.split('=').next().unwrap_or_default();
            // The value is in a variable, or the option itself is unknown.
            if name.starts_with("--config-env") || name.contains(ANYTHING) || is_several(given) {
                return None;
            }
            if has_value && word.text == "-c" {
                self.configuration(given, depth)?;
            }
            // More words than one, the command among them.
            if given.may_split {
                let behind = rest.get(n..).unwrap_or_default();
                self.push("git", &[&[Word::anything()], behind].concat())?;
            }
        }
        n += rest.iter().skip(n).take_while(|word| word.text == PATH).count();
        let rest = rest.get(n..).unwrap_or_default();
        // The command of git itself is unknown.
        if rest.first().is_some_and(|word| {
            is_several(word) || rest.len() > 1 && word.text.starts_with(ANYTHING)
        }) {
            return None;
        }
        self.push("git", &with_options_marked("git", rest))?;
        let is = |n: usize, text: &str| rest.get(n).is_some_and(|word| word.text == text);
        if is(0, "for-each-repo") {
            self.push("git", &[&[Word::anything()], rest].concat())?;
        }
        if is(0, "bisect") && is(1, "run") {
            self.words(rest.get(2..).unwrap_or_default(), depth.checked_sub(1)?)?;
        }
        if is(0, "rebase") {
            if hides_command("rebase", rest.get(1..).unwrap_or_default()) {
                return None;
            }
            self.rebase(rest, depth.checked_sub(1)?)?;
        }
        self.values_of_git(rest, depth.checked_sub(1)?)?;
        let has_lines = is(0, "submodule") || is(0, "rebase") || is(0, "filter-branch");
        for word in rest.iter().skip(1).filter(|_| has_lines) {
            let line = word.text.split_once('=').map_or(word.text.as_str(), |(_, line)| line);
            let is_filter = is(0, "filter-branch") && !line.starts_with('-');
            if is_filter || line.contains([' ', '\t', '\n', ';', '&', '|', '(', '\\', '\'', '"']) {
                self.line_in(&Word::plain(line), depth.checked_sub(1)?)?;
            }
        }
        match is(0, "submodule") {
            true => {
                self.at_each_start("git", rest.get(1..).unwrap_or_default(), depth.checked_sub(1)?)
            }
            false => Some(()),
        }
    }

    /// `key=value`, as for `-c`; many a value is run.
    fn configuration(&mut self, word: &Word, depth: usize) -> Option<()> {
        let (key, value) = word.text.split_once('=').unwrap_or((&word.text, ""));
        let key = key.to_lowercase();
        // Another name for any command, or programs in the place of an address.
        if key.contains(ANYTHING) || key.starts_with("alias.") || key.ends_with("allow") {
            return None;
        }
        if PLAIN_KEYS.iter().any(|plain| key.starts_with(plain)) {
            return Some(());
        }
        match value.trim_start_matches('!') {
            "" => Some(()),
            line => self.line_in(&Word::plain(line), depth.checked_sub(1)?),
        }
    }

    /// Looks into the lines that options of git's commands hold.
    fn values_of_git(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        let Some((command, rest)) = rest.split_first() else { return Some(()) };
        let letters = match command.text.as_str() {
            "clone" => "u",
            "difftool" => "x",
            "grep" => "O",
            _ => "",
        };
        let is_optional = command.text == "grep";
        for value in values(rest, letters, LINE_OPTIONS) {
            if !(is_optional && value.is_next) {
                self.line_in(&value.word, depth)?;
            }
        }
        if command.text == "clone" {
            for value in values(rest, "c", &["config"]) {
                self.configuration(&value.word, depth)?;
            }
        }
        if command.text == "config" && hides_alias(rest) {
            return None;
        }
        let is_alias = |word: &&Word| command.text == "config" && word.text.starts_with('!');
        for word in rest.iter().filter(is_alias) {
            self.shell_line(&Word::plain(word.text.trim_start_matches('!')), depth)?;
        }
        for (_, line) in rest.iter().filter_map(|word| word.text.split_once("ext::")) {
            self.line_in(&Word::plain(line), depth)?;
        }
        Some(())
    }
}

/// Whether `git config` may set an alias for an unknown command.
fn hides_alias(rest: &[Word]) -> bool {
    let mut named = rest.iter().skip_while(|word| word.text.starts_with('-'));
    let key = named.next().map(|word| word.text.to_lowercase()).unwrap_or_default();
    let is_one = key.starts_with("alias.") || key.starts_with(ANYTHING);
    rest.iter().any(is_several) || is_one && named.any(|word| word.text.contains(ANYTHING))
}
