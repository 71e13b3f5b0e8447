//! The commands that are run by programs which run others: `xargs`, `find`, `docker` and so on.
//!
//! In: such a program, and the words behind it. The command among them is looked into as if it
//! stood alone; `options` says where it begins, or else it may begin at each word.

use super::callbacks::hides_command;
use super::options::{CommandStart, behind_options, is_value, may_start_shell};
use super::programs::{
    FIND_ACTIONS, GROUPS, LATER_GROUPS, LETTERS_OF_XARGS, LINE_RUNNERS, LINES_IN_OPTIONS, OF_GNU,
    OPTIONS_OF_XARGS, OTHER_RUN_SUBCOMMANDS, PROGRAM_OPTIONS, RUN_SUBCOMMANDS, SCRIPT_COMMANDS,
    SCRIPT_RUNNERS, SHELL_SUBCOMMANDS, STARTING_SHELLS, SUBCOMMAND_RUNNERS, VALUE_RUNNERS,
    WRAPPERS, WRAPPERS_WITH_OPERAND, row,
};
use super::{ANYTHING, CommandSearch, PATH, Word, is_flag, is_line, is_setting, options_of};

impl CommandSearch {
    pub(super) fn wrapped_commands(
        &mut self,
        program: &str,
        rest: &[Word],
        depth: usize,
    ) -> Option<()> {
        // As GNU's programs are called beside others of that name.
        let of_gnu = program.strip_prefix('g').filter(|name| OF_GNU.contains(name));
        let program = of_gnu.unwrap_or(program);
        let watch = rest.iter().position(|word| word.text == "watch");
        if let Some(at) = watch.filter(|_| program == "cargo") {
            return self.wrapped_commands(
                "cargo-watch",
                rest.get(at + 1..).unwrap_or_default(),
                depth,
            );
        }
        // `env -S` takes its argument apart by rules of its own.
        let is_split = |word: &Word| {
            let flags = word.text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains('S')) || word.text.starts_with("--s")
        };
        if program == "env" && rest.iter().any(is_split) {
            return None;
        }
        let has_shell = starts_shell(program, rest) || may_start_shell(program, rest);
        if has_shell || hides_command(program, rest) {
            return None;
        }
        let may_name = |word: &Word| is_flag(word, 'p') || word.text.contains(ANYTHING);
        if program == "hash" && rest.iter().any(may_name) {
            return None;
        }
        // `command -v` only prints where a program is.
        if program == "command" && options_of(rest).any(|word| word.text.contains(['v', 'V'])) {
            return Some(());
        }
        let depth = depth.checked_sub(1);
        if VALUE_RUNNERS.contains(&program) {
            self.by_values(program, rest, depth?)?;
        }
        if LINE_RUNNERS.contains(&program) {
            self.lines_among(program, rest, depth?)?;
        }
        let is_loader = program.starts_with("ld-linux") || program.starts_with("ld-musl");
        let runners = [WRAPPERS, SUBCOMMAND_RUNNERS, LINE_RUNNERS];
        if !is_loader && !runners.iter().any(|names| names.contains(&program)) {
            return Some(());
        }
        let depth = depth?;
        self.packages(program, rest, depth)?;
        self.named_by_option(program, rest, depth)?;
        match program {
            "find" => {
                let is_action = |word: &Word| match word.text.split_once(ANYTHING) {
                    Some((start, _)) => FIND_ACTIONS.iter().any(|action| action.starts_with(start)),
                    None => FIND_ACTIONS.contains(&word.text.as_str()),
                };
                let starts = (1..rest.len()).filter(|n| rest.get(n - 1).is_some_and(is_action));
                let behind = |start| with_names(action_command(rest, start), &["{}"]);
                starts.map(behind).try_for_each(|words| self.words(&words, depth))
            }
            "xargs" => {
                self.words(&xargs_command(rest)?, depth)?;
                if matches!(behind_options(program, rest), CommandStart::Command(_)) {
                    return Some(());
                }
                self.at_each_start(program, rest, depth)?;
                // An option may have a value or not.
                let is_known =
                    |n: &usize| rest.get(*n).is_some_and(|word| !may_be_any_program(word));
                let starts = (0..rest.len()).filter(is_known);
                let behind = |n| [rest.get(n..).unwrap_or_default(), &[Word::anything()]].concat();
                starts.map(behind).try_for_each(|words| self.words(&words, depth))
            }
            "capsh" => self.capsh(rest, depth),
            "fd" | "fdfind" => self.fd(rest, depth),
            "kubectl" => match self.pod_command_at(rest) {
                Some(n) => self.words(rest.get(n..).unwrap_or_default(), depth),
                None => self.at_each_start(program, rest, depth),
            },
            // `ip netns exec NAME command`, or shorter
            "ip" => {
                let is_exec = |word: &Word| {
                    let start = word.text.split(ANYTHING).next().unwrap_or_default();
                    "exec".starts_with(start) && !word.text.is_empty()
                };
                let at = rest.iter().position(is_exec).map_or(rest.len(), |at| at + 1);
                self.at_each_start(program, rest.get(at..).unwrap_or_default(), depth)
            }
            "parallel" => {
                let is_command = |word: &&Word| !word.text.starts_with(":::");
                let words = rest.iter().skip_while(|word| has_value(word));
                let command: Vec<_> = words.take_while(is_command).cloned().collect();
                self.at_each_start(program, &with_names(&command, &["{}"]), depth)?;
                let words = [command.as_slice(), &[Word::anything()]].concat();
                self.at_each_start(program, &with_names(&words, &["{}"]), depth)
            }
            "strace" => {
                self.strace_output(rest, depth)?;
                self.at_each_start(program, rest, depth)
            }
            _ => match behind_options(program, rest) {
                CommandStart::Command(n) => self.words(rest.get(n..).unwrap_or_default(), depth),
                CommandStart::Nothing => Some(()),
                CommandStart::Unclear => self.at_each_start(program, rest, depth),
            },
        }
    }

    /// `kubectl exec pod -- command`: where the command begins, if nothing before it may be
    /// something else.
    fn pod_command_at(&self, rest: &[Word]) -> Option<usize> {
        let at = rest.iter().position(|word| word.text == "--")?;
        let before = rest.get(..at)?;
        let is_told =
            |word: &Word| !word.may_split && (self.has_paths || !word.text.starts_with(ANYTHING));
        // Else it may be the value of an option.
        let is_end = before.last().is_some_and(|word| {
            !word.text.starts_with('-') || ["-i", "-it", "-ti", "-t"].contains(&word.text.as_str())
        });
        let is_exec = before.first().is_some_and(|word| word.text == "exec");
        (is_exec && is_end && before.iter().all(is_told)).then_some(at + 1)
    }

    /// Whether an unknown word is an operand, as a container or a time limit: it is no program, nor
    /// does it name one, and a command stands behind it.
    fn is_operand(&self, program: &str, words: &[Word], at: usize) -> bool {
        let is_one = words.get(at).is_some_and(|word| !word.may_split) && at + 1 < words.len();
        let is = |n: usize, text: &str| words.get(n).is_some_and(|word| word.text == text);
        let is_container = match program {
            "docker" | "nerdctl" | "podman" => is(0, "exec") || is(0, "run") && self.has_paths,
            _ => false,
        };
        // It could be the program itself.
        let is_first = program != "setarch" && at == 0 && WRAPPERS_WITH_OPERAND.contains(&program);
        is_one && (is_first || is_container)
    }

    /// Looks into a program named by an option, as in `--entrypoint=program`; one in the next word
    /// is found there.
    fn named_by_option(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        // `doppler run --command line`
        if program == "doppler" && rest.iter().any(|word| word.text.starts_with("--com")) {
            self.lines_among(program, rest, depth)?;
        }
        let options = PROGRAM_OPTIONS.iter().find(|(name, ..)| *name == program);
        let Some((_, long, letters)) = options else { return Some(()) };
        for word in rest {
            let is_letter = |c: char| letters.contains(c) && !word.text.starts_with("--");
            let value = match long.iter().any(|start| word.text.starts_with(start)) {
                true => word.text.split_once('=').map(|(_, value)| value),
                false => word
                    .text
                    .strip_prefix('-')
                    .and_then(|one| one.split_once(is_letter).map(|(_, value)| value)),
            };
            let Some(value) = value.filter(|value| !value.is_empty()) else { continue };
            let named = word.with(value);
            match is_line(&named) {
                true => self.line_in(&named, depth)?,
                false => self.words(&[named, Word::anything()], depth)?,
            }
        }
        Some(())
    }

    /// Looks into the words behind `--`, which `capsh` gives to a shell.
    fn capsh(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        let at = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
        // Another shell, itself once more, or what is not known.
        let is_plain = |word: &Word| {
            word.text.starts_with("--")
                && !word.text.starts_with("--shell")
                && !word.text.contains(ANYTHING)
        };
        if !rest.iter().take(at).all(is_plain) {
            return None;
        }
        match rest.get(at + 1..) {
            Some(behind) => self.shell("bash", behind, depth),
            None => Some(()),
        }
    }

    /// Looks into the commands of `fd`: behind `-x` one for each file, behind `-X` one for all.
    fn fd(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        for (n, word) in rest.iter().enumerate() {
            let Some(attached) = joined(word, "--exec", &['x', 'X']) else { continue };
            let attached = word.with(attached.trim_start_matches('='));
            let behind = rest.get(n + 1..).unwrap_or_default();
            let behind = behind.split(|word| word.text == ";").next().unwrap_or_default();
            let attached = Some(attached).filter(|word| !word.text.is_empty());
            let command: Vec<Word> = attached.into_iter().chain(behind.iter().cloned()).collect();
            let command = [command.as_slice(), &[Word::anything()]].concat();
            self.words(&with_names(&command, &["{}", "{/}", "{//}", "{.}", "{/.}"]), depth)?;
        }
        Some(())
    }

    /// Looks into the line of `git rebase -x line`, also in one word with the letters.
    pub(super) fn rebase(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        for (n, word) in rest.iter().enumerate() {
            let Some(attached) = joined(word, "--e", &['x']) else { continue };
            let attached = word.with(attached);
            let line = Some(&attached).filter(|line| !line.text.is_empty()).or(rest.get(n + 1));
            line.map_or(Some(()), |line| self.line_in(line, depth))?;
        }
        Some(())
    }

    /// Looks into the command of `strace -o '|command'`.
    fn strace_output(&mut self, rest: &[Word], depth: usize) -> Option<()> {
        for (n, word) in rest.iter().enumerate() {
            let Some(attached) = joined(word, "--o", &['o']) else { continue };
            let attached = Some(attached).filter(|output| !output.is_empty());
            let next = rest.get(n + 1).map(|word| word.text.as_str());
            let Some(output) = attached.or(next) else { continue };
            if output.starts_with(ANYTHING) {
                return None;
            }
            if let Some(line) = output.strip_prefix(['|', '!']) {
                self.line_in(&Word::plain(line), depth)?;
            }
        }
        Some(())
    }

    /// Looks for the command at each word, as it is uncertain where it begins behind options and
    /// their values. An unknown word may be it as long as nothing before it is more likely to be.
    pub(super) fn at_each_start(
        &mut self,
        program: &str,
        words: &[Word],
        depth: usize,
    ) -> Option<()> {
        // Whatever stands behind its name is for the script.
        let is_script = |word: &Word| SCRIPT_COMMANDS.contains(&word.text.as_str());
        if program != "bun"
            && SCRIPT_RUNNERS.contains(&program)
            && words.first().is_some_and(is_script)
        {
            return Some(());
        }
        let mut is_awaited = !LINES_IN_OPTIONS.contains(&program);
        let mut has_operand = false;
        let mut is_begun = !SUBCOMMAND_RUNNERS.contains(&program);
        let has_command = begins_with_subcommand(words);
        for n in 0..words.len() {
            let behind = words.get(n..).unwrap_or_default();
            let Some(word) = behind.first() else { continue };
            // What only the shell knows may be that which runs others, and what it runs.
            if !is_begun && !has_command && (word.is_open || word.text.starts_with(ANYTHING)) {
                if word.may_split {
                    return None;
                }
                is_begun = !is_value(program, words, n);
                continue;
            }
            if !is_begun {
                let is_script =
                    word.text == "run" && program != "bun" && SCRIPT_RUNNERS.contains(&program);
                is_begun = runs_others(program, &word.text) && !is_script;
                continue;
            }
            // `-u"$@"` is more words than one, the program among them.
            if word.text.starts_with('-') && word.may_split && is_awaited {
                return None;
            }
            if word.text.starts_with('-') || word.text == PATH {
                continue;
            }
            if may_be_any_program(word) {
                let is_operand = !has_operand && self.is_operand(program, words, n);
                if is_awaited && !is_operand && !is_value(program, words, n) {
                    return None;
                }
                has_operand |= is_operand && !is_value(program, words, n);
                continue;
            }
            self.words(behind, depth)?;
            let before = n.checked_sub(1).and_then(|n| words.get(n));
            is_awaited = is_setting(&word.text)
                || before.is_some_and(|before| before.text.starts_with('-'))
                || word.text.starts_with(|c: char| c.is_ascii_digit())
                || ["run", "exec"].contains(&word.text.as_str())
                || n == 0 && WRAPPERS_WITH_OPERAND.contains(&program);
        }
        Some(())
    }
}

/// The value joined to an option that begins so, or has one of these letters; it may be empty.
fn joined<'a>(word: &'a Word, long: &str, letters: &[char]) -> Option<&'a str> {
    let has_letter = letters.iter().any(|letter| is_flag(word, *letter));
    match word.text.starts_with(long) {
        true => Some(word.text.split_once('=').map_or("", |(_, value)| value)),
        false if has_letter => word.text.split_once(letters).map(|(_, value)| value),
        false => None,
    }
}

/// Whether a subcommand of the program runs other programs.
pub(super) fn runs_others(program: &str, command: &str) -> bool {
    let has_other_name = |commands: &[&str]| commands.contains(&command);
    RUN_SUBCOMMANDS.contains(&command)
        || row(OTHER_RUN_SUBCOMMANDS, program).is_some_and(has_other_name)
}

/// Whether the words begin with a subcommand that no other can follow on.
fn begins_with_subcommand(words: &[Word]) -> bool {
    let n_groups = words.iter().take_while(|word| GROUPS.contains(&word.text.as_str())).count();
    words.get(n_groups).is_some_and(|word| {
        !word.text.starts_with('-')
            && !word.text.contains(ANYTHING)
            && !LATER_GROUPS.contains(&word.text.as_str())
    })
}

/// Whether a program without options of interest becomes a shell that runs its input.
fn starts_shell(program: &str, rest: &[Word]) -> bool {
    let has_command = |word: &Word| word.text.starts_with("--c") || is_flag(word, 'c');
    let n_plain = rest.iter().filter(|word| !word.text.starts_with('-')).count();
    match row(STARTING_SHELLS, program) {
        Some(Some(needed)) => n_plain < needed,
        Some(None) => !rest.iter().any(has_command),
        None if program == "nix-shell" => !rest.iter().any(announces_command),
        None if program == "systemd-run" => {
            rest.iter().any(|word| is_flag(word, 'S') || word.text.starts_with("--sh"))
        }
        None => {
            let starting = row(SHELL_SUBCOMMANDS, program).unwrap_or_default();
            let is_shell = |word: &Word| starting.contains(&word.text.as_str());
            let Some(at) = rest.iter().position(is_shell) else { return false };
            let is_command = |word: &Word| match program {
                "podman" => !word.text.starts_with('-'),
                _ => announces_command(word),
            };
            !rest.iter().skip(at + 1).any(is_command)
        }
    }
}

/// Whether a command stands behind the word.
fn announces_command(word: &Word) -> bool {
    ["--", "-c", "--command", "--run"].contains(&word.text.as_str())
}

/// The command of an action of `find`, up to its end. That is `+` only behind `{}`, and not where
/// somebody is asked for each file.
fn action_command(rest: &[Word], start: usize) -> &[Word] {
    let is = |n: usize, text: &str| rest.get(n).is_some_and(|word| word.text == text);
    let asks = start.checked_sub(1).is_some_and(|n| is(n, "-ok") || is(n, "-okdir"));
    let is_end = |n: &usize| {
        is(*n, ";") || !asks && *n > start && is(*n, "+") && is(n.saturating_sub(1), "{}")
    };
    let end = (start..rest.len()).find(is_end).unwrap_or(rest.len());
    rest.get(start..end).unwrap_or_default()
}

/// The command that `xargs` runs with the names that it reads; none if the placeholder for them is
/// not known.
fn xargs_command(rest: &[Word]) -> Option<Vec<Word>> {
    let (mut n, mut places) = (0, vec!["{}"]);
    while let Some(option) = rest.get(n).map(|word| &word.text).filter(|one| one.starts_with('-')) {
        n += 1;
        let next = rest.get(n).map(|word| word.text.as_str());
        if option.starts_with("--") {
            places.extend(option.split_once('=').map(|(_, place)| place));
            n += usize::from(OPTIONS_OF_XARGS.contains(&option.as_str()));
            continue;
        }
        // Some have a value in the same word or none.
        let is_bare = |c: char| ['e', 'i', 'l'].contains(&c);
        let is_last = |c: char| LETTERS_OF_XARGS.contains(c) || is_bare(c);
        let Some((at, letter)) = option.char_indices().find(|(_, c)| is_last(*c)) else { continue };
        let attached = option.get(at + 1..).filter(|value| !value.is_empty());
        let value = attached.or(next.filter(|_| !is_bare(letter)));
        n += usize::from(attached.is_none() && !is_bare(letter));
        places.extend(value.filter(|_| ['I', 'J', 'i'].contains(&letter)));
    }
    if places.iter().any(|place| place.contains(ANYTHING)) {
        return None;
    }
    let mut words = with_names(rest.get(n..).unwrap_or_default(), &places);
    if !words.is_empty() {
        words.push(Word::anything());
    }
    Some(words)
}

/// `command ::: names`: what stands before the names, if that is a command for certain. Else the
/// names are commands.
pub(super) fn before_names(rest: &[Word]) -> &[Word] {
    let n_words = rest.iter().take_while(|word| !word.text.starts_with(":::")).count();
    let before = rest.get(..n_words).unwrap_or_default();
    let is_plain = |word: &Word| {
        !word.may_split && !word.text.starts_with(['-', ANYTHING]) && !word.text.is_empty()
    };
    let has_command = match before {
        [first, ..] if is_plain(first) => true,
        // What stands behind an option may be its value.
        _ => before.windows(2).any(|pair| match pair {
            [option, word] => is_plain(word) && (is_plain(option) || has_value(option)),
            _ => false,
        }),
    };
    if has_command { before } else { rest }
}

/// `-j4`, `--jobs=4`
fn has_value(option: &Word) -> bool {
    let text = option.text.strip_prefix("-j").or(option.text.strip_prefix("--jobs="));
    text.is_some_and(|text| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()))
}

/// The words of a command with names in place of their placeholders.
fn with_names(words: &[Word], places: &[&str]) -> Vec<Word> {
    let named = |word: &Word| {
        let mut text = word.text.clone();
        for place in places.iter().filter(|place| !place.is_empty()) {
            text = text.replace(place, &ANYTHING.to_string());
        }
        word.with(&text)
    };
    words.iter().map(named).collect()
}

/// Whether a word may be any program.
fn may_be_any_program(word: &Word) -> bool {
    word.is_unknown() || word.may_split
}
