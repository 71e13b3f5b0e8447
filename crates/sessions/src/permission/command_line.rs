//! The programs that a command line may run, for rules that deny.
//!
//! In: a command line as an agent shows it. Out: every command in it as it would be written
//! plainly, without the path before its program and without the programs around it (`sh -c`,
//! `env`, `sudo` …), with [`ANYTHING`] for what only the shell will know. It errs on the side of
//! more. What a script, an alias or a program does is not seen.

mod lexer;
mod programs;

use lexer::{Word, lex};
use programs::{
    AROUND, BEHIND_ANOTHER, FIND_ACTIONS, KEYWORDS, LINES_IN_OPTIONS, OF_LINES, OPTIONS_OF_GIT,
    OPTIONS_OF_XARGS, OTHER_SHELLS, READERS, SHELLS,
};

pub(super) use lexer::ANYTHING;

/// Lines in lines.
const MAX_DEPTH: usize = 4;
/// What is looked at in all, with lines in lines counted again.
const MAX_BYTES: usize = 8 << 20;

/// `None` if the line is too long, too deep or too odd to tell.
pub(super) fn commands_in(line: &str) -> Option<Vec<String>> {
    let mut search = Search { found: Vec::new(), bytes_left: MAX_BYTES };
    search.line(line, MAX_DEPTH)?;
    Some(search.found)
}

struct Search {
    found: Vec<String>,
    bytes_left: usize,
}

impl Search {
    fn line(&mut self, line: &str, depth: usize) -> Option<()> {
        self.spend(line.len())?;
        let lexed = lex(line)?;
        for words in &lexed.commands {
            self.words(words, depth)?;
        }
        let depth = depth.checked_sub(1);
        lexed.lines.iter().try_for_each(|line| self.line(line, depth?))?;
        lexed.documents.iter().try_for_each(|text| self.document(text, depth?))
    }

    /// Most are no commands, and need not be lines of a shell.
    fn document(&mut self, text: &str, depth: usize) -> Option<()> {
        if self.line(text, depth).is_none() {
            for line in text.lines() {
                self.spend(line.len())?;
                self.line(line, depth);
            }
        }
        Some(())
    }

    fn spend(&mut self, n_bytes: usize) -> Option<()> {
        self.bytes_left = self.bytes_left.checked_sub(n_bytes)?;
        Some(())
    }

    fn push(&mut self, program: &str, rest: &[Word]) -> Option<()> {
        let mut command = program.to_owned();
        for word in rest {
            // It may be more words than one, or none.
            if !(word.may_split && word.is_unknown()) {
                command.push(' ');
            }
            command.push_str(&word.text);
        }
        self.spend(command.len())?;
        self.found.push(command);
        Some(())
    }

    fn words(&mut self, words: &[Word], depth: usize) -> Option<()> {
        let is_before =
            |word: &&Word| is_setting(&word.text) || KEYWORDS.contains(&word.text.as_str());
        let n_before = words.iter().take_while(is_before).count();
        let Some((first, rest)) = words.get(n_before..).and_then(<[Word]>::split_first) else {
            return Some(());
        };
        let program = first.text.rsplit('/').next().unwrap_or_default();
        // Any program may be there; `=git` is one to zsh.
        if first.may_split || program.contains(ANYTHING) || program.starts_with('=') {
            return None;
        }
        self.push(program, rest)?;
        match program.strip_prefix("git-") {
            Some(command) => {
                let command = Word { text: command.to_owned(), may_split: false };
                self.push("git", &[&[command], rest].concat())?;
            }
            None if program == "git" => self.behind_options_of_git(rest)?,
            None => self.behind_options(program, rest)?,
        }
        let is_read = READERS.contains(&program) && rest.iter().any(is_unseen);
        if SHELLS.contains(&program) {
            self.shell(rest, depth)
        } else if is_read || OTHER_SHELLS.contains(&program) {
            None
        } else {
            self.around(program, rest, depth)
        }
    }

    /// `git -C . push` is `git push`.
    fn behind_options_of_git(&mut self, rest: &[Word]) -> Option<()> {
        let mut n = 0;
        while let Some(word) = rest.get(n).filter(|word| word.text.starts_with('-')) {
            n += if OPTIONS_OF_GIT.contains(&word.text.as_str()) { 2 } else { 1 };
            // Another name for any command.
            let is_alias = |word: &Word| word.text.to_lowercase().contains("alias.");
            if rest.get(..n).unwrap_or(rest).iter().any(is_alias) {
                return None;
            }
            self.where_split("git", rest, n - 1)?;
        }
        self.push("git", rest.get(n..).unwrap_or_default())
    }

    /// What an option or its value is split into may have the command among it.
    fn where_split(&mut self, program: &str, rest: &[Word], n: usize) -> Option<()> {
        match rest.get(n) {
            Some(word) if word.may_split => {
                let behind = rest.get(n + 1..).unwrap_or_default();
                self.push(program, &[&[Word::anything()], behind].concat())
            }
            _ => Some(()),
        }
    }

    /// Whether or not an option has a value behind it.
    fn behind_options(&mut self, program: &str, rest: &[Word]) -> Option<()> {
        let is_option = |n: usize| rest.get(n).is_some_and(|word| word.text.starts_with('-'));
        for n in 1..=rest.len() {
            if !is_option(n - 1) && (n < 2 || !is_option(n - 2)) {
                break;
            }
            self.where_split(program, rest, n - 1)?;
            if !is_option(n) {
                self.push(program, rest.get(n..).unwrap_or_default())?;
            }
        }
        Some(())
    }

    fn shell(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        let (mut has_line, mut n) = (false, 0);
        while let Some(word) = rest.get(n).filter(|word| word.text.starts_with(['-', '+'])) {
            let flags = word.text.strip_prefix(['-', '+']).unwrap_or_default();
            has_line |= !flags.starts_with('-') && flags.contains('c');
            let is_long = flags.starts_with('-');
            let has_value = !is_long && flags.ends_with(['o', 'O'])
                || ["-rcfile", "-init-file"].contains(&flags);
            n += if has_value { 2 } else { 1 };
        }
        // Without one it runs what comes in.
        let line = rest.get(n)?;
        if !has_line {
            return (!is_unseen(line)).then_some(());
        }
        let depth = depth.checked_sub(1)?;
        self.line_in(line, depth)?;
        // As some agents show it: the line without the quotes around it.
        self.words(rest.get(n..).unwrap_or_default(), depth)
    }

    /// A word that is a line; none if what it says is put together.
    fn line_in(&mut self, word: &Word, depth: usize) -> Option<()> {
        let is_line = word.text.contains(|c: char| c.is_whitespace() || ";&|()<>`$".contains(c));
        match is_line {
            true if word.text.contains(ANYTHING) => None,
            true => self.line(&word.text, depth),
            false => self.words(std::slice::from_ref(word), depth),
        }
    }

    fn around(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        // It takes its argument apart by rules of its own.
        let is_split = |word: &Word| {
            let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains('S')) || word.text.starts_with("--s")
        };
        if program == "env" && rest.iter().any(is_split) {
            return None;
        }
        let depth = depth.checked_sub(1);
        if OF_LINES.contains(&program) {
            let lines = rest.iter().map(|word| match word.text.split_once('=') {
                Some((option, line)) if option.starts_with('-') => {
                    Word { text: line.to_owned(), may_split: word.may_split }
                }
                _ => word.clone(),
            });
            let is_seen = |word: &Word| !LINES_IN_OPTIONS.contains(&program) || !word.is_unknown();
            for line in lines.filter(|word| !word.text.starts_with('-') && is_seen(word)) {
                self.line_in(&line, depth?)?;
            }
            let all: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
            if program == "eval" {
                self.line(&all.join(" "), depth?)?;
            }
        }
        let is_loader = program.starts_with("ld-linux") || program.starts_with("ld-musl");
        if !AROUND.contains(&program) && !OF_LINES.contains(&program) && !is_loader {
            return Some(());
        }
        let depth = depth?;
        match program {
            "find" => {
                let is_action = |word: &Word| FIND_ACTIONS.contains(&word.text.as_str());
                let starts = (1..rest.len()).filter(|n| rest.get(n - 1).is_some_and(is_action));
                let behind = |start| with_names(rest.get(start..).unwrap_or_default(), &["{}"]);
                starts.map(behind).try_for_each(|words| self.words(&words, depth))
            }
            "xargs" => self.words(&behind_xargs(rest), depth),
            "parallel" => {
                let is_command = |word: &&Word| !word.text.starts_with(":::");
                let command: Vec<_> = rest.iter().take_while(is_command).cloned().collect();
                let mut words = with_names(&command, &["{}"]);
                words.push(Word::anything());
                self.at_each_start(program, &words, command.len(), depth)
            }
            _ => self.at_each_start(program, rest, rest.len(), depth),
        }
    }

    /// Where the command begins behind options and their values is not told. What is not known may
    /// be it as long as nothing before it is more likely to be.
    fn at_each_start(
        &mut self,
        program: &str,
        words: &[Word],
        n_starts: usize,
        depth: usize,
    ) -> Option<()> {
        let mut is_awaited = !LINES_IN_OPTIONS.contains(&program);
        for n in 0..n_starts {
            let behind = words.get(n..).unwrap_or_default();
            let Some(word) = behind.first().filter(|word| !word.text.starts_with('-')) else {
                continue;
            };
            if word.is_unknown() || word.may_split && !is_setting(&word.text) {
                if is_awaited {
                    return None;
                }
                continue;
            }
            self.words(behind, depth)?;
            let before = n.checked_sub(1).and_then(|n| words.get(n));
            is_awaited = is_setting(&word.text)
                || before.is_some_and(|before| before.text.starts_with('-'))
                || word.text.starts_with(|c: char| c.is_ascii_digit())
                || ["run", "exec"].contains(&word.text.as_str())
                || n == 0 && BEHIND_ANOTHER.contains(&program);
        }
        Some(())
    }
}

/// The command that `xargs` runs with the names that it reads.
fn behind_xargs(rest: &[Word]) -> Vec<Word> {
    let (mut n, mut place) = (0, None);
    while let Some(option) = rest.get(n).map(|word| &word.text).filter(|one| one.starts_with('-')) {
        let value = rest.get(n + 1).map(|word| word.text.as_str());
        let has_value = OPTIONS_OF_XARGS.contains(&option.as_str());
        place = match option.strip_prefix("-I") {
            Some("") => value,
            attached => attached.or(place),
        };
        n += if has_value { 2 } else { 1 };
    }
    let mut words = with_names(rest.get(n..).unwrap_or_default(), &[place.unwrap_or("{}")]);
    words.push(Word::anything());
    words
}

/// The words of a command with names in place of what stands for them.
fn with_names(words: &[Word], places: &[&str]) -> Vec<Word> {
    let named = |word: &Word| {
        let mut text = word.text.clone();
        for place in places.iter().filter(|place| !place.is_empty()) {
            text = text.replace(place, &ANYTHING.to_string());
        }
        Word { text, may_split: word.may_split }
    };
    words.iter().map(named).collect()
}

/// What a shell would read there is not in the line.
fn is_unseen(word: &Word) -> bool {
    word.is_unknown() || word.text.starts_with("/dev/") || word.text == "-"
}

/// `NAME=value` before a program.
fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let is_of_name =
            |c: char| c.is_ascii_alphanumeric() || "_[]+@".contains(c) || c == ANYTHING;
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(is_of_name)
    })
}

#[cfg(test)]
mod bash_tests;
#[cfg(test)]
mod tests;
