//! Options of programs that run others, and where the command begins behind them.
//!
//! Only certain results are given. An option that is not in the table, one that is cut short
//! (`--verb`), or a word of which the shell may make an option, leaves it open.

use super::programs::{PLAIN_FLAGS, has_value_behind};
use super::{ANYTHING, PATH, Word, is_setting};

/// The words behind a program's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommandStart {
    /// A command begins at that word, or variables for one.
    Command(usize),
    Nothing,
    Unclear,
}

/// The options of a program.
#[derive(Debug, Clone, Copy)]
struct ProgramOptions {
    programs: &'static [&'static str],
    /// As usage lines have them, short ones of a kind together: `-a` and `--all` have no value, or
    /// one behind `=` if they are long. `-u=` and `--user=` have one, in the same word or in the
    /// next, and `-i?` has one in the same word, or none.
    takes: &'static str,
    before: CommandPrefix,
    shell: ShellStart,
}

/// The words before the command, beside options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandPrefix {
    Nothing,
    /// A word before all options.
    First,
    Operand,
    /// An operand that begins with a digit.
    Number,
    Settings,
    /// A command of the program itself, before all options.
    Subcommand(&'static str),
}

/// The case in which a program becomes a shell that runs its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShellStart {
    Never,
    /// If it is given no command.
    Always,
    /// If it is given none, with one of these flags.
    With(&'static str, &'static [&'static str]),
}

const NONE: ProgramOptions = ProgramOptions {
    programs: &[],
    takes: "",
    before: CommandPrefix::Nothing,
    shell: ShellStart::Never,
};
const STARTING: ProgramOptions = ProgramOptions { shell: ShellStart::Always, ..NONE };

const PROGRAMS: &[ProgramOptions] = &[
    ProgramOptions {
        programs: &["chroot"],
        takes: "--skip-chdir --groups= --userspec=",
        before: CommandPrefix::Operand,
        ..STARTING
    },
    ProgramOptions {
        programs: &["doas"],
        takes: "-ns -Cu=",
        shell: ShellStart::With("s", &[]),
        ..NONE
    },
    ProgramOptions {
        programs: &["fakeroot"],
        takes: "-u -bfils= --unknown-is-real --faked= --fd-base= --lib=",
        ..STARTING
    },
    ProgramOptions {
        programs: &["nsenter"],
        takes: "-aFZ -GStW= -CTUimnpruw? --all --cgroup --follow-context --ipc --mount --net \
            --no-fork --pid --preserve-credentials --root --time --user --uts --wd --setgid= \
            --setuid= --target= --wdns=",
        ..STARTING
    },
    ProgramOptions {
        programs: &["pkexec"],
        takes: "--disable-internal-agent --keep-cwd --user=",
        ..STARTING
    },
    ProgramOptions { programs: &["proot"], takes: "-0 -Rbikmrvw=", ..STARTING },
    ProgramOptions {
        programs: &["run0"],
        takes: "-Dgu= --no-ask-password --pipe --pty --slice-inherit --background= --chdir= \
            --description= --group= --machine= --nice= --property= --setenv= --slice= --unit= \
            --user=",
        ..STARTING
    },
    ProgramOptions {
        programs: &["setarch"],
        takes: OPTIONS_OF_SETARCH,
        before: CommandPrefix::First,
        ..STARTING
    },
    ProgramOptions {
        programs: &["i386", "linux32", "linux64", "uname26", "x86_64"],
        takes: OPTIONS_OF_SETARCH,
        ..STARTING
    },
    ProgramOptions {
        programs: &["sudo"],
        takes: "-ABEHNPSbikns -CDRTgprtu= --askpass --background --bell --login --no-update \
            --non-interactive --preserve-env --preserve-groups --reset-timestamp --set-home \
            --shell --stdin --chdir= --chroot= --close-from= --command-timeout= --group= \
            --prompt= --role= --type= --user=",
        before: CommandPrefix::Settings,
        shell: ShellStart::With("is", &["--login", "--shell"]),
    },
    ProgramOptions {
        programs: &["unshare"],
        takes: "-CTUcfimnpru -GRSw= --cgroup --fork --ipc --keep-caps --kill-child --map-auto \
            --map-current-user --map-root-user --mount --mount-proc --net --pid --time --user \
            --uts --boottime= --map-group= --map-groups= --map-user= --map-users= --monotonic= \
            --propagation= --root= --setgid= --setgroups= --setuid= --wd=",
        ..STARTING
    },
    ProgramOptions { programs: &["builtin", "nohup", "npx", "uvx"], ..NONE },
    ProgramOptions {
        programs: &["asdf", "bundle", "nodenv", "pyenv", "rbenv"],
        before: CommandPrefix::Subcommand("exec"),
        ..NONE
    },
    ProgramOptions {
        programs: &["pdm", "pipenv", "pipx", "poetry", "rye", "uv"],
        before: CommandPrefix::Subcommand("run"),
        ..NONE
    },
    ProgramOptions { programs: &["command"], takes: "-p", ..NONE },
    ProgramOptions {
        programs: &["env"],
        takes: "-0iv -Cu= --block-signal --debug --default-signal --ignore-environment \
            --ignore-signal --list-signal-handling --null --chdir= --unset=",
        before: CommandPrefix::Settings,
        ..NONE
    },
    ProgramOptions { programs: &["exec"], takes: "-cl -a=", ..NONE },
    ProgramOptions {
        programs: &["ionice"],
        takes: "-t -cn= --ignore --class= --classdata=",
        ..NONE
    },
    ProgramOptions { programs: &["nice"], takes: "-n= --adjustment=", ..NONE },
    ProgramOptions { programs: &["setsid"], takes: "-cfw --ctty --fork --wait", ..NONE },
    ProgramOptions { programs: &["stdbuf"], takes: "-eio= --error= --input= --output=", ..NONE },
    // The program; the word of bash that is called so has `-p` alone.
    ProgramOptions {
        programs: &["time"],
        takes: "-apqv -fo= --append --portability --quiet --verbose --format= --output=",
        ..NONE
    },
    ProgramOptions {
        programs: &["timeout"],
        takes: "-v -ks= --foreground --preserve-status --verbose --kill-after= --signal=",
        before: CommandPrefix::Number,
        ..NONE
    },
    ProgramOptions {
        programs: &["xargs"],
        takes: "-0oprtx -EILPadns= -eil? --exit --interactive --no-run-if-empty --null \
            --open-tty --replace --show-limits --verbose --arg-file= --delimiter= --max-args= \
            --max-chars= --max-procs= --process-slot-var=",
        ..NONE
    },
];
const OPTIONS_OF_SETARCH: &str = "-3BFILRSTXZv --32bit --3gb --4gb --addr-compat-layout \
        --addr-no-randomize --fdpic-funcptrs --mmap-page-zero --read-implies-exec --short-inode --sticky-timeouts --uname-2.6 --verbose \
        --whole-seconds";

/// The place at which the command of a program begins.
pub(super) fn behind_options(program: &str, rest: &[Word]) -> CommandStart {
    let Some(options) = of(program) else { return CommandStart::Unclear };
    options.start(rest).map_or(CommandStart::Unclear, |n| options.command(rest, n))
}

/// Whether a program is, or may be, a shell that runs its input, or one that reads the words of
/// the command once more.
pub(super) fn may_start_shell(program: &str, rest: &[Word]) -> bool {
    let Some(options) = of(program) else { return false };
    let behind = behind_options(program, rest);
    match (options.shell, behind) {
        (ShellStart::Never, _) => false,
        (ShellStart::Always, behind) => !matches!(behind, CommandStart::Command(_)),
        (ShellStart::With(letters, long), CommandStart::Command(n)) => {
            let asks = |word: &Word| asks_for_shell(word, letters, long);
            rest.iter().take(n).any(asks) && rest.iter().any(|word| word.text.contains('$'))
        }
        (ShellStart::With(letters, long), _) => {
            rest.iter().any(|word| asks_for_shell(word, letters, long))
        }
    }
}

/// Whether a word is the value of an option, and so no program.
pub(super) fn is_value(program: &str, rest: &[Word], at: usize) -> bool {
    let text =
        |n: usize| at.checked_sub(n).and_then(|at| rest.get(at)).map(|one| one.text.as_str());
    let is_option = |text| has_value_behind(program, text);
    // What looks like an option may be the value of the one before.
    let is_behind_option = text(3).is_some_and(is_option);
    let takes_none = |text: &str| match text.starts_with(ANYTHING) {
        true => is_behind_option,
        false => !text.starts_with('-') || text.contains('=') || PLAIN_FLAGS.contains(&text),
    };
    rest.get(at).is_some_and(|word| !word.may_split)
        && text(1).is_some_and(is_option)
        && text(2).is_none_or(takes_none)
}

fn of(program: &str) -> Option<&'static ProgramOptions> {
    PROGRAMS.iter().find(|options| options.programs.contains(&program))
}

fn asks_for_shell(word: &Word, letters: &str, long: &[&str]) -> bool {
    let text = word.text.as_str();
    match text.strip_prefix('-') {
        Some(rest) if rest.starts_with('-') => {
            text.len() > 2 && long.iter().any(|long| long.starts_with(text))
        }
        Some(flags) => flags.contains(|c| letters.contains(c) || c == ANYTHING),
        // What is not known may be such an option.
        None => text.starts_with(ANYTHING),
    }
}

impl ProgramOptions {
    /// The index at which the options end.
    fn start(&self, rest: &[Word]) -> Option<usize> {
        let mut n = match rest.first() {
            Some(first) if self.before == CommandPrefix::First => {
                usize::from(is_plain(first).then_some(!first.text.starts_with('-'))?)
            }
            _ => 0,
        };
        while let Some(word) = rest.get(n) {
            if word.may_split || word.text.starts_with(ANYTHING) || word.text == "-" {
                return None;
            }
            n += match word.text.strip_prefix('-') {
                None => return Some(n),
                Some("-") => return Some(n + 1),
                Some(option) => match option.strip_prefix('-') {
                    Some(long) => self.n_words_of_long(long)?,
                    None => self.n_words_of_short(option)?,
                },
            };
            // The value of an option may be several words, or none.
            let is_split =
                rest.get(n - 1).is_some_and(|value| value.may_split || value.text == PATH);
            if is_split {
                return None;
            }
        }
        Some(rest.len())
    }

    fn n_words_of_long(&self, option: &str) -> Option<usize> {
        let name = option.split('=').next().unwrap_or_default();
        let known = self.takes.split(' ').filter_map(|one| one.strip_prefix("--"));
        let found = known.into_iter().find(|one| one.trim_end_matches('=') == name)?;
        // It has its value already, or has none.
        Some(if found.ends_with('=') && !option.contains('=') { 2 } else { 1 })
    }

    fn n_words_of_short(&self, letters: &str) -> Option<usize> {
        for (at, letter) in letters.char_indices() {
            let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            // What the shell puts there may be no text.
            let may_be_empty = value.chars().all(|c| c == ANYTHING);
            let mut known = self.takes.split(' ').filter(|one| !one.starts_with("--"));
            let group = known.find(|one| one.trim_matches(['-', '=', '?']).contains(letter))?;
            if group.ends_with('?') {
                return Some(1);
            }
            if group.ends_with('=') {
                return match (value.is_empty(), may_be_empty) {
                    (true, _) => Some(2),
                    (false, true) => None,
                    (false, false) => Some(1),
                };
            }
        }
        Some(1)
    }

    /// The command behind the options.
    fn command(&self, rest: &[Word], start: usize) -> CommandStart {
        let is_ended = start > 0 && rest.get(start - 1).is_some_and(|word| word.text == "--");
        let n = match (self.before, rest.get(start)) {
            (CommandPrefix::Nothing | CommandPrefix::First, _) => start,
            (_, None) => return CommandStart::Nothing,
            (_, Some(word)) if !is_plain(word) => return CommandStart::Unclear,
            (CommandPrefix::Operand, Some(_)) => start + 1,
            // Some take a number as the value of an option instead.
            (CommandPrefix::Number, Some(word)) => {
                match word.text.starts_with(|c: char| c.is_ascii_digit()) {
                    true => start + 1,
                    false => return CommandStart::Unclear,
                }
            }
            (CommandPrefix::Subcommand(name), Some(word)) => {
                let is_option = |word: &Word| word.text.starts_with('-');
                match word.text == name && start == 0 && !rest.get(1).is_some_and(is_option) {
                    true => 1,
                    false => return CommandStart::Unclear,
                }
            }
            (CommandPrefix::Settings, Some(_)) => {
                let is_one = |word: &&Word| !word.may_split && is_setting(&word.text);
                start + rest.iter().skip(start).take_while(is_one).count()
            }
        };
        let Some(word) = rest.get(n) else { return CommandStart::Nothing };
        // Some take options there as well; others have no variables behind `--`.
        let is_odd = word.text.starts_with('-')
            || self.before == CommandPrefix::Settings
                && (word.text.contains('=') || n > start && is_ended);
        let begins_at = if self.before == CommandPrefix::Settings { start } else { n };
        match is_odd || !is_plain(word) {
            true => CommandStart::Unclear,
            false => CommandStart::Command(begins_at),
        }
    }
}

/// Whether a word is one word, and no option unless it is written as one.
fn is_plain(word: &Word) -> bool {
    !word.may_split && !word.text.starts_with(ANYTHING)
}
