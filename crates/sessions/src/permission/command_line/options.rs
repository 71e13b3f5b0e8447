//! How programs that run others take their options: where the command begins behind them.
//!
//! Only what is certain is told. An option that is not in the table, one that is cut short
//! (`--verb`), or a word of which the shell may make an option, leaves it open.

use super::{ANYTHING, Word, is_setting};

/// What stands behind a program's options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Behind {
    /// A command begins at that word, or variables for one.
    Command(usize),
    Nothing,
    Unclear,
}

/// The options of a program, short ones as letters.
#[derive(Debug, Clone, Copy)]
struct Options {
    programs: &'static [&'static str],
    /// Without a value.
    flags: &'static str,
    /// With one, in the same word or in the next.
    valued: &'static str,
    /// With one in the same word, or none.
    attached: &'static str,
    /// Without a value, or with one behind `=`.
    long_flags: &'static [&'static str],
    /// With a value, behind `=` or in the next word.
    long_valued: &'static [&'static str],
    before: Before,
    shell: Shell,
}

/// What stands before the command, beside options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A word before all options.
    First,
    Operand,
    Settings,
}

/// When a program becomes a shell that runs what comes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shell {
    Always,
    /// With one of these flags.
    With(&'static str, &'static [&'static str]),
}

const NONE: Options = Options {
    programs: &[],
    flags: "",
    valued: "",
    attached: "",
    long_flags: &[],
    long_valued: &[],
    before: Before::Nothing,
    shell: Shell::Always,
};

const KNOWN: &[Options] = &[
    Options {
        programs: &["chroot"],
        long_flags: &["skip-chdir"],
        long_valued: &["groups", "userspec"],
        before: Before::Operand,
        ..NONE
    },
    Options {
        programs: &["doas"],
        flags: "ns",
        valued: "Cu",
        shell: Shell::With("s", &[]),
        ..NONE
    },
    Options {
        programs: &["fakeroot"],
        flags: "u",
        valued: "bfils",
        long_flags: &["unknown-is-real"],
        long_valued: &["faked", "fd-base", "lib"],
        ..NONE
    },
    Options {
        programs: &["nsenter"],
        flags: "aFZ",
        valued: "GStW",
        attached: "CTUimnpruw",
        long_flags: &[
            "all",
            "cgroup",
            "follow-context",
            "ipc",
            "mount",
            "net",
            "no-fork",
            "pid",
            "preserve-credentials",
            "root",
            "time",
            "user",
            "uts",
            "wd",
        ],
        long_valued: &["setgid", "setuid", "target", "wdns"],
        ..NONE
    },
    Options {
        programs: &["pkexec"],
        long_flags: &["disable-internal-agent", "keep-cwd"],
        long_valued: &["user"],
        ..NONE
    },
    Options { programs: &["proot"], flags: "0", valued: "Rbikmrvw", ..NONE },
    Options {
        programs: &["run0"],
        valued: "Dgu",
        long_flags: &["no-ask-password", "pipe", "pty", "slice-inherit"],
        long_valued: &[
            "background",
            "chdir",
            "description",
            "group",
            "machine",
            "nice",
            "property",
            "setenv",
            "slice",
            "unit",
            "user",
        ],
        ..NONE
    },
    Options {
        programs: &["setarch"],
        flags: "3BFILRSTXZv",
        long_flags: FLAGS_OF_SETARCH,
        before: Before::First,
        ..NONE
    },
    Options {
        programs: &["i386", "linux32", "linux64", "uname26", "x86_64"],
        flags: "3BFILRSTXZv",
        long_flags: FLAGS_OF_SETARCH,
        ..NONE
    },
    Options {
        programs: &["sudo"],
        flags: "ABEHNPSbikns",
        valued: "CDRTgprtu",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "login",
            "no-update",
            "non-interactive",
            "preserve-env",
            "preserve-groups",
            "reset-timestamp",
            "set-home",
            "shell",
            "stdin",
        ],
        long_valued: &[
            "chdir",
            "chroot",
            "close-from",
            "command-timeout",
            "group",
            "prompt",
            "role",
            "type",
            "user",
        ],
        before: Before::Settings,
        shell: Shell::With("is", &["--login", "--shell"]),
        ..NONE
    },
    Options {
        programs: &["unshare"],
        flags: "CTUcfimnpru",
        valued: "GRSw",
        long_flags: &[
            "cgroup",
            "fork",
            "ipc",
            "keep-caps",
            "kill-child",
            "map-auto",
            "map-current-user",
            "map-root-user",
            "mount",
            "mount-proc",
            "net",
            "pid",
            "time",
            "user",
            "uts",
        ],
        long_valued: &[
            "boottime",
            "map-group",
            "map-groups",
            "map-user",
            "map-users",
            "monotonic",
            "propagation",
            "root",
            "setgid",
            "setgroups",
            "setuid",
            "wd",
        ],
        ..NONE
    },
];
const FLAGS_OF_SETARCH: &[&str] = &[
    "32bit",
    "3gb",
    "4gb",
    "addr-compat-layout",
    "addr-no-randomize",
    "fdpic-funcptrs",
    "mmap-page-zero",
    "read-implies-exec",
    "short-inode",
    "sticky-timeouts",
    "uname-2.6",
    "verbose",
    "whole-seconds",
];

/// Where the command of a program begins.
pub(super) fn behind_options(program: &str, rest: &[Word]) -> Behind {
    let Some(options) = of(program) else { return Behind::Unclear };
    options.start(rest).map_or(Behind::Unclear, |n| options.command(rest, n))
}

/// Whether a program is, or may be, a shell that runs what comes in, or one that reads the words of
/// the command once more.
pub(super) fn may_start_shell(program: &str, rest: &[Word]) -> bool {
    let Some(options) = of(program) else { return false };
    let behind = behind_options(program, rest);
    match (options.shell, behind) {
        (Shell::Always, behind) => !matches!(behind, Behind::Command(_)),
        (Shell::With(letters, long), Behind::Command(n)) => {
            let asks = |word: &Word| asks_for_shell(word, letters, long);
            rest.iter().take(n).any(asks) && rest.iter().any(|word| word.text.contains('$'))
        }
        (Shell::With(letters, long), _) => {
            rest.iter().any(|word| asks_for_shell(word, letters, long))
        }
    }
}

fn of(program: &str) -> Option<&'static Options> {
    KNOWN.iter().find(|options| options.programs.contains(&program))
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

impl Options {
    /// Where the options end.
    fn start(&self, rest: &[Word]) -> Option<usize> {
        let mut n = match rest.first() {
            Some(first) if self.before == Before::First => {
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
            let is_split = rest.get(n - 1).is_some_and(|value| value.may_split);
            if is_split {
                return None;
            }
        }
        Some(rest.len())
    }

    fn n_words_of_long(&self, option: &str) -> Option<usize> {
        let (name, has_value) = match option.split_once('=') {
            Some((name, _)) => (name, true),
            None => (option, false),
        };
        match self.long_valued.contains(&name) {
            true => Some(if has_value { 1 } else { 2 }),
            false => self.long_flags.contains(&name).then_some(1),
        }
    }

    fn n_words_of_short(&self, letters: &str) -> Option<usize> {
        for (at, letter) in letters.char_indices() {
            let value = letters.get(at + letter.len_utf8()..).unwrap_or_default();
            // What the shell puts there may be no text.
            let may_be_empty = value.chars().all(|c| c == ANYTHING);
            if self.attached.contains(letter) {
                return Some(1);
            }
            if self.valued.contains(letter) {
                return match (value.is_empty(), may_be_empty) {
                    (true, _) => Some(2),
                    (false, true) => None,
                    (false, false) => Some(1),
                };
            }
            if !self.flags.contains(letter) {
                return None;
            }
        }
        Some(1)
    }

    /// The command behind the options.
    fn command(&self, rest: &[Word], start: usize) -> Behind {
        let is_ended = start > 0 && rest.get(start - 1).is_some_and(|word| word.text == "--");
        let n = match self.before {
            Before::Nothing | Before::First => start,
            Before::Operand => match rest.get(start) {
                Some(word) if !is_plain(word) => return Behind::Unclear,
                Some(_) => start + 1,
                None => return Behind::Nothing,
            },
            Before::Settings => {
                let is_one = |word: &&Word| !word.may_split && is_setting(&word.text);
                start + rest.iter().skip(start).take_while(is_one).count()
            }
        };
        let Some(word) = rest.get(n) else { return Behind::Nothing };
        let is_odd = self.before == Before::Settings
            && (word.text.contains('=') || n > start && (is_ended || word.text.starts_with('-')));
        let begins_at = if self.before == Before::Settings { start } else { n };
        match is_odd || !is_plain(word) {
            true => Behind::Unclear,
            false => Behind::Command(begins_at),
        }
    }
}

/// Whether it is one word, and no option unless it says so.
fn is_plain(word: &Word) -> bool {
    !word.may_split && !word.text.starts_with(ANYTHING)
}
