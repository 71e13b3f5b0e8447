//! The programs that a command line may run, for rules that deny.
//!
//! In: a command line as an agent shows it. Out: every command in it as it would be written
//! plainly, without the path before its program and without the programs around it (`sh -c`,
//! `env`, `sudo` …), with [`ANYTHING`] for what only the shell will know. It errs on the side of
//! more. What a script, an alias or a program does is not seen.

mod callbacks;
mod git;
mod lexer;
mod option_values;
mod options;
mod packages;
mod programs;
mod shells;
mod variables;
mod wrappers;

use std::collections::BTreeSet;

use lexer::{PATH, RereadRisk, has_nullglob, has_paths, lex};
use options::is_value;
use packages::{NpmSetting, setting_of_npm};
use programs::{
    BUILD_TOOLS, DECLARING_BUILTINS, EVALUATING_BUILTINS, FOR_SHELL, KEYWORDS, LINE_LETTERS,
    LINES_IN_OPTIONS, LOOPS, OTHER_SHELLS, READING_BUILTINS, SHELLS, SOURCING_BUILTINS,
    STDIN_RUNNERS, row,
};
use variables::{Arrays, configures_git, is_line_variable, is_read_by_others, may_configure_git};
use wrappers::before_names;

pub(super) use lexer::{ANYTHING, Word};

/// Depth of lines in lines.
const MAX_DEPTH: usize = 4;
/// Bytes that are looked at in all, with lines in lines counted again.
const MAX_BYTES: usize = 8 << 20;

/// A command that a line may run: its program without a path, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FoundCommand {
    pub(super) words: Vec<Word>,
}

/// The commands that a line may run; `None` if it is too long, too deep or too odd to tell.
pub(super) fn commands_in(line: &str) -> Option<Vec<FoundCommand>> {
    let has_paths = has_paths(line);
    let mut search = CommandSearch { bytes_left: MAX_BYTES, has_paths, ..CommandSearch::default() };
    search.line(line, MAX_DEPTH)?;
    search.reread_risk.literals.forget(|text| search.lines.contains(text));
    let names_any = search.reread_risk.may_name_element();
    if search.reread_risk.may_run_text() || search.arrays.may_read_text(line, names_any) {
        return None;
    }
    // With another name for something, `[[` may be there to dash.
    let has_names =
        search.found.iter().filter_map(|one| one.words.first()).any(|word| word.text == "alias");
    (!search.joins_tests || !has_names).then_some(search.found)
}

#[derive(Default)]
struct CommandSearch {
    found: Vec<FoundCommand>,
    bytes_left: usize,
    /// Variables that hold a path are what they always are: nothing in the line sets one.
    has_paths: bool,
    /// `nullglob` may be set: a pattern that nothing matches is no word then.
    has_nullglob: bool,
    /// Words behind `&&` in a `[[` were passed over.
    joins_tests: bool,
    reread_risk: RereadRisk,
    arrays: Arrays,
    /// Texts that were looked into as lines.
    lines: BTreeSet<String>,
}

impl CommandSearch {
    fn line(&mut self, line: &str, depth: usize) -> Option<()> {
        self.spend(line.len())?;
        self.has_paths &= has_paths(line);
        self.has_nullglob |= has_nullglob(line);
        let (mut lexed, n_before) = (lex(line, self.has_paths)?, self.found.len());
        // With `nullglob` a pattern may be no word.
        let words = lexed.commands.iter_mut().flatten().filter(|_| self.has_nullglob);
        words.filter(|word| word.may_split).for_each(|word| word.text = ANYTHING.to_string());
        self.joins_tests |= lexed.joins_tests;
        // From here on it is that of the lines within.
        let around = std::mem::take(&mut self.reread_risk);
        self.lines.insert(line.to_owned());
        let read = lexed.commands.iter().try_for_each(|words| self.words(words, depth));
        if self.reread_risk.has_numbers {
            self.reread_risk.literals.join(lexed.unread);
        }
        self.reread_risk.join(around);
        self.reread_risk.join(lexed.reread_risk);
        read?;
        let depth = depth.checked_sub(1);
        for line in &lexed.lines {
            self.line(line, depth?)?;
            // To dash they end at a parenthesis that none is open for, and are run up to there.
            if line.contains(')') {
                self.line(&format!("({line}"), depth?)?;
            }
        }
        // Most here-documents are no commands, and need not be lines of a shell.
        let reads = |words: &Vec<Word>| {
            words.iter().any(|word| STDIN_RUNNERS.contains(&program_of(&word.text)))
        };
        if lexed.commands.iter().any(reads) {
            let is_run = self.found.iter().skip(n_before).any(runs_input);
            lexed.documents.iter().try_for_each(|text| self.document(text, is_run, depth?))?;
        }
        Some(())
    }

    /// A here-document, which `is_run` for certain or need not be.
    fn document(&mut self, text: &str, is_run: bool, depth: usize) -> Option<()> {
        if self.line(text, depth).is_none() {
            for line in text.lines().filter(|_| !is_run).collect::<Vec<_>>() {
                self.spend(line.len())?;
                self.line(line, depth);
            }
            return (!is_run).then_some(());
        }
        Some(())
    }

    fn spend(&mut self, n_bytes: usize) -> Option<()> {
        self.bytes_left = self.bytes_left.checked_sub(n_bytes)?;
        Some(())
    }

    fn push(&mut self, program: &str, rest: &[Word]) -> Option<()> {
        let mut words = vec![Word::plain(program)];
        words.extend_from_slice(rest);
        self.spend(words.iter().map(|word| word.text.len() + 1).sum())?;
        self.found.push(FoundCommand { words });
        Some(())
    }

    fn words(&mut self, words: &[Word], depth: usize) -> Option<()> {
        let is_before =
            |word: &&Word| is_setting(&word.text) || KEYWORDS.contains(&word.text.as_str());
        let n_before = words.iter().take_while(is_before).count();
        words.iter().take(n_before).for_each(|word| self.arrays.see_setting(word));
        for (name, value) in words.iter().take(n_before).filter_map(setting) {
            // A file that a shell runs first, or commands of git.
            if name == "ENV" || may_configure_git(name, &value.text) {
                return None;
            }
            self.variable(name, &value, depth)?;
        }
        let Some((first, rest)) = words.get(n_before..).and_then(<[Word]>::split_first) else {
            return Some(());
        };
        // A directory, or nothing, so that the next word is the program.
        if first.text == PATH {
            return None;
        }
        let program = program_of(&first.text);
        // A directory, or nothing at all: what stands there cannot be run.
        if program.is_empty() && !first.may_split {
            return Some(());
        }
        // Any program may be there; `=git` is one to zsh.
        if first.may_split || program.contains(ANYTHING) || program.starts_with('=') {
            return None;
        }
        let is_code = |word: &Word| word.text.contains("$(") || word.text.contains('`');
        let is_read = SOURCING_BUILTINS.contains(&program) && rest.iter().any(is_unseen_script)
            || EVALUATING_BUILTINS.contains(&program) && rest.iter().any(is_code)
            || EVALUATING_BUILTINS.contains(&program) && rest.iter().any(configures_git)
            || LOOPS.contains(&program) && rest.first().is_some_and(is_read_by_others)
            || READING_BUILTINS.contains(&program) && rest.iter().any(is_read_by_others)
            || program == "set" && rest.iter().any(changes_reading)
            || program == "history" && !rest.iter().all(is_number);
        if is_read || OTHER_SHELLS.contains(&program) || program == "fc" {
            return None;
        }
        self.arrays.see(program, rest)?;
        if DECLARING_BUILTINS.contains(&program) {
            let mut settings =
                rest.iter().filter(|word| is_setting(&word.text)).filter_map(setting);
            settings.try_for_each(|(name, value)| self.variable(name, &value, depth))?;
        }
        match program.strip_prefix("git-") {
            Some(command) => self.push("git", &[&[Word::plain(command)], rest].concat())?,
            None if program == "git" => self.git(rest, depth)?,
            None => self.push(program, &with_options_marked(program, rest))?,
        }
        match SHELLS.contains(&program) {
            true => self.shell(program, rest, depth),
            false => self.wrapped_commands(program, rest, depth),
        }
    }

    /// Looks into the value of a variable, which other programs may run.
    fn variable(&mut self, name: &str, value: &Word, depth: usize) -> Option<()> {
        match setting_of_npm(name, &value.text) {
            NpmSetting::Shell => None,
            NpmSetting::Other if !is_line_variable(name) => Some(()),
            NpmSetting::Other | NpmSetting::Line => {
                let depth = depth.checked_sub(1)?;
                // `|line`, `|-line` and `program:program`
                let line = value.text.trim_start_matches(['|', '-']);
                let end = if name.ends_with("BROWSER") { ':' } else { '\0' };
                let mut lines = line.split(end).map(str::to_owned);
                lines.try_for_each(|text| self.shell_line(&Word { text, ..value.clone() }, depth))
            }
        }
    }

    /// Looks into a word that may be a line.
    fn line_in(&mut self, word: &Word, depth: usize) -> Option<()> {
        match is_line(word) {
            true => self.whole_line(word, depth),
            false => self.words(std::slice::from_ref(word), depth),
        }
    }

    /// The same for a word that nothing but a shell reads.
    fn shell_line(&mut self, word: &Word, depth: usize) -> Option<()> {
        match is_changed(word) {
            true => self.whole_line(word, depth),
            false => self.line_in(word, depth),
        }
    }

    /// Looks into a word that is a line; none if a part of it is not known.
    fn whole_line(&mut self, word: &Word, depth: usize) -> Option<()> {
        match word.text.contains(ANYTHING) {
            true => None,
            false => self.line(&word.text, depth),
        }
    }

    /// Looks into the lines among the words behind a program.
    fn lines_among(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        let is_for_shell = FOR_SHELL.contains(&program);
        let rest = if program == "parallel" { before_names(rest) } else { rest };
        for (at, word) in rest.iter().enumerate() {
            let value = word.text.split_once('=').map(|(_, value)| value);
            // `su -c'…'`
            let is_short = word.text.starts_with('-') && !word.text.starts_with("--");
            let letters = row(LINE_LETTERS, program).unwrap_or(&['c', 'C']);
            let attached = word.text.split_once(letters).map(|(_, line)| line);
            let attached = attached.filter(|line| is_short && !line.is_empty());
            for line in [value, attached].into_iter().flatten() {
                let line = word.with(line);
                match is_for_shell {
                    true => self.shell_line(&line, depth)?,
                    false => self.line_in(&line, depth)?,
                }
            }
            let is_seen = !LINES_IN_OPTIONS.contains(&program) || !word.is_unknown();
            let is_other = word.text.starts_with('-') || word.text == PATH;
            let before = at.checked_sub(1).and_then(|at| rest.get(at));
            let is_behind = before.is_some_and(|before| match before.text.strip_prefix("--") {
                Some(long) => ["", "command", "filter"].contains(&long),
                None => before.text.starts_with('-') && before.text.ends_with(letters),
            });
            let is_sure = is_for_shell && (is_behind || program == "trap" && at == 0);
            match is_seen && !is_other && !is_value(program, rest, at) {
                true if is_sure => self.shell_line(word, depth)?,
                true => self.line_in(word, depth)?,
                false => {}
            }
        }
        let all: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
        match program {
            "eval" if all.iter().any(|word| word.contains(ANYTHING)) => None,
            "eval" => self.line(&all.join(" "), depth),
            _ => Some(()),
        }
    }
}

/// Whether all that a command does is to run its input.
fn runs_input(command: &FoundCommand) -> bool {
    let Some((program, rest)) = command.words.split_first() else { return false };
    let is_option = |word: &&Word| word.text.starts_with('-');
    // What stands behind an option may be its value.
    let n_operands = rest.iter().filter(|word| !word.is_optional).count();
    match program.text.as_str() {
        "at" | "batch" => true,
        "parallel" => rest.iter().all(|word| is_option(&word)),
        "ssh" => n_operands <= 1,
        _ => false,
    }
}

fn program_of(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// The words behind a program, with options and their values marked as optional.
fn with_options_marked(program: &str, rest: &[Word]) -> Vec<Word> {
    let is_option = |word: &Word| {
        word.text.starts_with(['-', '+']) || is_setting(&word.text) || word.text == PATH
    };
    let mut is_behind_option = false;
    let mark = |word: &Word| {
        let is_optional = is_option(word) || is_behind_option || BUILD_TOOLS.contains(&program);
        is_behind_option = word.text.starts_with('-');
        Word { is_optional, ..word.clone() }
    };
    rest.iter().map(mark).collect()
}

fn is_line(word: &Word) -> bool {
    let is_of_line = |c: char| c.is_whitespace() || ";&|()<>`$\\'\"".contains(c);
    word.text.contains(is_of_line) || has_braces(word)
}

/// `{a,b}` or `{a..b}`, of which a shell may make more words than one.
fn has_braces(word: &Word) -> bool {
    let within = word.text.split_once('{').map(|(_, within)| within);
    within.is_some_and(|within| within.contains(',') || within.contains(".."))
}

/// Whether a shell that reads the word makes something else of it.
fn is_changed(word: &Word) -> bool {
    is_line(word) || word.text.contains(['*', '?', '['])
}

/// The leading options, as far as they are known.
fn options_of(words: &[Word]) -> impl Iterator<Item = &Word> {
    let is_option =
        |word: &&Word| word.text.starts_with('-') && word.text != "--" && !word.may_split;
    words.iter().take_while(is_option).filter(|word| !word.text.contains(ANYTHING))
}

fn is_number(word: &Word) -> bool {
    word.text.chars().all(|c| c.is_ascii_digit())
}

/// Whether a word has the flag, also among others: `-qc`.
fn is_flag(word: &Word, flag: char) -> bool {
    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(flag)
}

/// Whether a shell would read there what is not in the line: input, a device, an unknown file.
fn is_unseen_script(word: &Word) -> bool {
    let name = program_of(&word.text);
    let is_descriptor = name.chars().all(|c| c.is_ascii_digit()) || name == "stdin" || name == "-";
    let real = word.text.trim_start_matches('/');
    word.is_unknown() || is_descriptor || real.starts_with("dev/") || real.starts_with("proc/")
}

/// Whether an option of `set` has lines read in another way, or takes words for variables wherever
/// they stand.
fn changes_reading(word: &Word) -> bool {
    word.text.contains('H') || is_flag(word, 'k') || word.text == "keyword"
}

fn setting(word: &Word) -> Option<(&str, Word)> {
    let (name, value) = word.text.split_once('=')?;
    Some((name, word.with(value)))
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
mod callback_tests;
#[cfg(test)]
mod evaluation_tests;
#[cfg(test)]
mod hidden_tests;
#[cfg(test)]
mod name_tests;
#[cfg(test)]
mod odd_tests;
#[cfg(test)]
mod option_tests;
#[cfg(test)]
mod package_tests;
#[cfg(test)]
mod reading_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
#[cfg(test)]
mod wrapper_tests;
