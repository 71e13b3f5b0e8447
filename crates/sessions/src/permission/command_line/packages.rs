//! Commands that package managers run beside a program that is named: a line, a shell, the value of
//! a variable.
//!
//! Not all of their options with values are listed here. What stands behind an option that is not
//! known to have none may be its value, and may be an operand: it counts as whatever hides less.

use super::programs::SHELLS;
use super::wrappers::runs_others;
use super::{CommandSearch, Word, is_flag, is_line, program_of};
use crate::name_list::names;

/// Programs that run a line that is the value of `-c`.
const LINE_CALLERS: &[&str] = &["mise", "npm", "npx", "pnpm", "pnpx"];
/// Programs behind whose `exec` or `run` a line may stand.
const LINE_EXECUTORS: &[&str] = &["bun", "bundle", "devbox", "pixi", "yarn"];
/// Names of npm's commands, also in short.
const EXEC: &[&str] = &["exe", "exec", "x"];
const EXPLORE: &[&str] = &["explo", "explor", "explore"];
/// Options of npm and pnpm that have no value.
const FLAGS: &[&str] = names!(
    "-B -D -E -O -P -S -d -f -g -q -r -s -y --force --global --if-present --ignore-scripts \
     --include-workspace-root --json --legacy-peer-deps --offline --parallel --prefer-offline \
     --quiet --recursive --save-dev --silent --verbose --workspaces --ws --yes"
);
/// Options of pnpm that have one.
const VALUED_OF_PNPM: &[&str] = &["-C", "-F", "--dir", "--filter"];
/// Options with which alone a program only prints something about itself.
const INFO_OPTIONS: &[&str] = &["-h", "-v", "--help", "--version"];
/// Commands of pnpm that other programs are called as well. What is no command and no script to it
/// is a program.
const OWN_OF_PNPM: &[&str] = &[
    "env", "exec", "import", "init", "install", "link", "ln", "login", "ls", "patch", "rm", "test",
];
/// Settings of npm that name a line.
const LINE_SETTINGS: &[&str] = &["browser", "call", "editor", "git", "viewer"];

/// A word that is no option, by its index.
#[derive(Debug, Clone, Copy)]
struct Operand {
    at: usize,
    is_certain: bool,
}

impl CommandSearch {
    /// Looks into what such a program runs, if that is not simply a program behind it.
    pub(super) fn packages(&mut self, program: &str, rest: &[Word], depth: usize) -> Option<()> {
        if names_shell(program, rest) {
            return None;
        }
        match program {
            "npx" if is_bare(program, rest, rest) => return None,
            "npm" => {
                for at in commands(rest) {
                    let behind = rest.get(at + 1..).unwrap_or_default();
                    self.npm(rest, at, behind, depth)?;
                }
            }
            "pnpm" => {
                let is = |at: Option<usize>, texts: &[&str]| {
                    let word = at.and_then(|at| rest.get(at));
                    word.is_some_and(|word| texts.contains(&word.text.as_str()))
                };
                let is_program = |at: &usize| {
                    !is(Some(*at), OWN_OF_PNPM) && !is(at.checked_sub(1), VALUED_OF_PNPM)
                };
                for at in commands(rest).into_iter().filter(is_program) {
                    self.words(rest.get(at..).unwrap_or_default(), depth)?;
                }
            }
            _ if LINE_EXECUTORS.contains(&program) => {
                let is_exec = |word: &Word| runs_others(program, &word.text);
                let at = rest.iter().position(is_exec).map_or(rest.len(), |at| at + 1);
                let line = rest.iter().skip(at).find(|word| !word.text.starts_with('-'));
                line.filter(|line| is_line(line))
                    .map_or(Some(()), |line| self.line_in(line, depth))?;
            }
            // `hatch run environment:program`
            "hatch" => {
                let at = rest.iter().position(|word| word.text == "run").unwrap_or(rest.len());
                let is_first =
                    |n: &usize| rest.get(*n).is_some_and(|word| !word.text.starts_with(['-', '+']));
                let first = (at + 1..rest.len()).find(is_first).unwrap_or(rest.len());
                if let Some(line) = rest.get(first).filter(|word| is_line(word)) {
                    self.line_in(line, depth)?;
                }
                if let Some((word, behind)) = rest.get(first..).and_then(<[Word]>::split_first)
                    && let Some((_, name)) = word.text.split_once(':')
                {
                    self.words(&[&[word.with(name)], behind].concat(), depth)?;
                }
            }
            _ => {}
        }
        match calls_for_line(program, rest).is_empty() {
            true => Some(()),
            false => self.lines_among(program, rest, depth),
        }
    }

    /// `npm exec` without a program is a shell, as is `npm explore` with a package alone; else the
    /// words behind that are one line.
    fn npm(&mut self, rest: &[Word], at: usize, behind: &[Word], depth: usize) -> Option<()> {
        let command = rest.get(at).map_or("", |word| word.text.as_str());
        if EXEC.contains(&command) {
            return (!is_bare("npm", rest, behind)).then_some(());
        }
        if !EXPLORE.contains(&command) {
            return Some(());
        }
        let operands = operands(behind);
        let n_certain = operands.iter().filter(|one| one.is_certain).count();
        if n_certain < 2 {
            return None;
        }
        for start in 1..=1 + operands.len() - n_certain {
            let words = operands.iter().skip(start).filter_map(|one| behind.get(one.at));
            let texts: Vec<&str> = words.map(|word| word.text.as_str()).collect();
            self.whole_line(&Word::plain(&texts.join(" ")), depth)?;
        }
        Some(())
    }
}

/// The effect of a variable on npm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NpmSetting {
    /// Nothing that is of interest.
    Other,
    /// It runs the value.
    Line,
    /// It runs lines by the value, or by a shell where it else would not.
    Shell,
}

/// `npm_config_…`, in any case.
pub(super) fn setting_of_npm(name: &str, value: &str) -> NpmSetting {
    let name = name.trim_end_matches('+').to_ascii_lowercase().replace('_', "-");
    let key = name.strip_prefix("npm-config-").or(name.strip_prefix("pnpm-config-"));
    match key {
        Some(key) if LINE_SETTINGS.contains(&key) => NpmSetting::Line,
        Some(key) if key.contains("shell") && !is_shell(value) => NpmSetting::Shell,
        _ => NpmSetting::Other,
    }
}

/// Whether an option of npm names a program that lines are run by, other than the usual shells.
fn names_shell(program: &str, rest: &[Word]) -> bool {
    if !["npm", "npx", "pnpm"].contains(&program) {
        return false;
    }
    let first = operands(rest).into_iter().find(|one| one.is_certain).map(|one| one.at);
    let n = first.filter(|_| program == "npx").unwrap_or(rest.len());
    let mut options = rest.iter().take(n).take_while(|word| word.text != "--").enumerate();
    options.any(|(at, word)| {
        let Some(option) = word.text.strip_prefix('-') else { return false };
        let next = rest.get(at + 1).map_or("", |word| word.text.as_str());
        let (name, value) = option.split_once('=').unwrap_or((option, next));
        let name = name.trim_start_matches('-');
        let is_of_shell = name.starts_with("scr") || name.contains("script-shell");
        let is_named = is_of_shell || program != "pnpm" && name == "shell";
        is_named && !is_shell(value)
    })
}

fn is_shell(path: &str) -> bool {
    SHELLS.contains(&program_of(path))
}

/// Whether there is neither a program nor a line. The program would be `behind` the command.
fn is_bare(program: &str, rest: &[Word], behind: &[Word]) -> bool {
    let calls = calls_for_line(program, rest);
    let is_told = !calls.is_empty() && calls.iter().all(|is_certain| *is_certain);
    let is_of_exec = |word: &Word| EXEC.contains(&word.text.as_str());
    let others: Vec<&Word> = rest.iter().filter(|word| !is_of_exec(word)).collect();
    let is_telling = others.iter().all(|word| INFO_OPTIONS.contains(&word.text.as_str()));
    !(is_told
        || is_telling && !others.is_empty()
        || operands(behind).iter().any(|one| one.is_certain))
}

/// The options before any program that say that a line is run instead of one: whether each is
/// certain to, and has a line.
fn calls_for_line(program: &str, rest: &[Word]) -> Vec<bool> {
    let is_exec = |at: &usize| rest.get(*at).is_some_and(|word| EXEC.contains(&word.text.as_str()));
    if !LINE_CALLERS.contains(&program) || program == "mise" && !commands(rest).iter().any(is_exec)
    {
        return Vec::new();
    }
    let is_subcommand = |word: &Word| EXEC.contains(&word.text.as_str()) || word.text == "dlx";
    // Behind `mise exec` are versions of tools.
    let is_program = |one: &Operand| {
        let word = rest.get(one.at);
        program != "mise"
            && one.is_certain
            && !word.is_some_and(|word| is_subcommand(word) || word.is_unknown())
    };
    let n = operands(rest).into_iter().find(is_program).map_or(rest.len(), |one| one.at);
    let options = rest.iter().take(n).take_while(|word| word.text != "--").enumerate();
    let call = |(at, word): (usize, &Word)| {
        let next = rest.get(at + 1).map_or("", |word| word.text.as_str());
        let (name, value) = word.text.split_once('=').unwrap_or((word.text.as_str(), next));
        let is_call = is_flag(word, 'c')
            || name.starts_with("--cal")
            || name.starts_with("--shell-m")
            || program == "mise" && name.starts_with("--com");
        let is_value = at.checked_sub(1).and_then(|n| rest.get(n)).is_some_and(may_take_next);
        is_call.then_some(!is_value && !value.is_empty())
    };
    options.filter_map(call).collect()
}

/// The places at which a subcommand of the program may stand.
fn commands(rest: &[Word]) -> Vec<usize> {
    let operands = operands(rest);
    let n_before = operands.iter().take_while(|one| !one.is_certain).count();
    operands.iter().take(n_before + 1).map(|one| one.at).collect()
}

fn operands(rest: &[Word]) -> Vec<Operand> {
    let end = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
    let before = (0..end).filter_map(|at| {
        let (word, option) = (rest.get(at)?, at.checked_sub(1).and_then(|n| rest.get(n)));
        let is_option = word.text.starts_with('-');
        // To npm they are values of every flag.
        let is_truth = ["true", "false", "null"].contains(&word.text.as_str());
        let is_certain = !option.is_some_and(|option| {
            may_take_next(option) || is_truth && option.text.starts_with('-')
        });
        (!is_option).then_some(Operand { at, is_certain })
    });
    before.chain((end + 1..rest.len()).map(|at| Operand { at, is_certain: true })).collect()
}

/// Whether a word is an option that may have the next word as its value.
fn may_take_next(word: &Word) -> bool {
    let text = word.text.as_str();
    text.starts_with('-')
        && !text.contains('=')
        && !text.starts_with("--no-")
        && !FLAGS.contains(&text)
}
