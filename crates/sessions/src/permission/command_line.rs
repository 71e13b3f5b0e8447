//! The programs that a command line may run, for rules that deny.
//!
//! In: a command line as an agent shows it. Out: every command in it as it would be written
//! plainly, without the path before its program and without the programs around it (`sh -c`,
//! `env`, `sudo` …). It errs on the side of more: quotes do not keep a command from being found.
//!
//! No shell is imitated here, and what a script or an alias does is not seen.

/// Where one command of a line ends and the next begins.
const SEPARATORS: &[char] = &[';', '&', '|', '\n', '(', ')', '{', '}', '`', '<', '>', '$'];
/// They run a line that is one of their arguments, or what comes in.
const SHELLS: [&str; 10] =
    ["sh", "bash", "rbash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh"];
/// They stand before a command and change nothing about what it is.
const KEYWORDS: [&str; 9] = ["!", "if", "then", "elif", "else", "while", "until", "do", "coproc"];
/// They run what stands behind them and their options.
const AROUND: [&str; 39] = [
    "env",
    "jobs",
    "sudo",
    "doas",
    "su",
    "nohup",
    "nice",
    "ionice",
    "chrt",
    "taskset",
    "time",
    "timeout",
    "command",
    "builtin",
    "exec",
    "eval",
    "stdbuf",
    "setsid",
    "xargs",
    "parallel",
    "busybox",
    "strace",
    "watch",
    "chroot",
    "unshare",
    "find",
    "script",
    "trap",
    "mapfile",
    "readarray",
    "flock",
    "setpriv",
    "prlimit",
    "setarch",
    "linux32",
    "linux64",
    "nsenter",
    "systemd-run",
    "dbus-run-session",
];
/// What these make of a line is not told from the line.
const ODD: [&str; 6] = ["$'", "$\"", "$@", "$*", "${@", "${*"];
/// Lines in lines.
const MAX_DEPTH: usize = 4;
/// Words behind a program of that kind that may be where the command begins.
const MAX_STARTS: usize = 16;
/// What is looked at in all, with lines in lines counted again.
const MAX_BYTES: usize = 8 << 20;

/// `None` if the line is too long or too deep to tell.
pub(super) fn commands_in(line: &str) -> Option<Vec<String>> {
    let mut search = Search { found: Vec::new(), bytes_left: MAX_BYTES };
    // A backslash before a line break joins two lines.
    search.line(&line.replace("\\\n", ""), MAX_DEPTH)?;
    // But not at the end of a comment.
    if line.contains("\\\n") {
        search.line(&line.replace("\\\n", "\n"), MAX_DEPTH)?;
    }
    Some(search.found)
}

struct Search {
    found: Vec<String>,
    bytes_left: usize,
}

impl Search {
    fn line(&mut self, line: &str, depth: usize) -> Option<()> {
        // Letters that are written as numbers, words that are put together, and arguments that
        // become commands.
        if ODD.iter().any(|odd| line.contains(odd)) {
            return None;
        }
        let mut readings = vec![line.to_owned()];
        if line.contains(['<', '>']) {
            // In quotes it may be a line of its own.
            let bare = line.replace(['\'', '"'], "");
            readings.extend([without_redirections(line), without_redirections(&bare)]);
        }
        // `A=$PWD git push`: a word that is made of something is still one word.
        if line.contains('$') {
            readings.push(line.replace("$(", "").replace(['$', ')'], ""));
        }
        // `git {push,origin}`
        if line.contains('{') && line.contains(',') {
            let last = readings.last().map(|last| last.replace(['{', '}', ','], " "));
            readings.extend(last);
        }
        readings.dedup();
        readings.iter().try_for_each(|line| self.parts(line, depth))
    }

    fn parts(&mut self, line: &str, depth: usize) -> Option<()> {
        let (mut before, mut is_redirected) = (None, false);
        for part in line.split_inclusive(SEPARATORS) {
            let text = part.strip_suffix(SEPARATORS).unwrap_or(part);
            // `{rm,-f,x}` is a command, too.
            let words = match before {
                Some('{') => words(&text.replace(',', " ")),
                _ => words(text),
            };
            self.words(&words, depth)?;
            // Behind a redirection comes a file, and then perhaps the command.
            if is_redirected {
                self.words(words.get(1..).unwrap_or_default(), depth)?;
            }
            before = part.chars().next_back();
            is_redirected &= words.is_empty();
            is_redirected |= matches!(before, Some('<' | '>' | '&'));
        }
        Some(())
    }

    fn push(&mut self, program: &str, rest: &[String]) -> Option<()> {
        let command = [&[program.to_owned()], rest].concat().join(" ");
        self.bytes_left = self.bytes_left.checked_sub(command.len())?;
        self.found.push(command);
        Some(())
    }

    fn words(&mut self, words: &[String], depth: usize) -> Option<()> {
        let is_before = |word: &&String| is_setting(word) || KEYWORDS.contains(&word.as_str());
        let n_before = words.iter().take_while(is_before).count();
        let Some((program, rest)) = words.get(n_before..).and_then(<[String]>::split_first) else {
            return Some(());
        };
        let program = program.rsplit('/').next().unwrap_or_default();
        self.push(program, rest)?;
        // `git -C . push` is `git push`, whether or not an option has a value behind it.
        let is_option = |n: usize| rest.get(n).is_some_and(|word| word.starts_with('-'));
        for n in 1..rest.len().min(MAX_STARTS) {
            if !is_option(n - 1) && (n < 2 || !is_option(n - 2)) {
                break;
            }
            if !is_option(n) {
                self.push(program, rest.get(n..).unwrap_or_default())?;
            }
        }
        // It takes its argument apart by rules of its own.
        let is_split = |word: &String| {
            let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
            flags.is_some_and(|flags| flags.contains('S')) || word.starts_with("--s")
        };
        if program == "env" && rest.iter().any(is_split) {
            return None;
        }
        let is_shell = SHELLS.contains(&program);
        // Whatever is named so, or comes in.
        if program.contains(['*', '?', '[']) && program != "[" && program != "[["
            || is_shell && rest.is_empty()
        {
            return None;
        }
        if !is_shell && !AROUND.contains(&program) {
            return Some(());
        }
        let depth = depth.checked_sub(1);
        for start in 0..rest.len().min(MAX_STARTS) {
            let behind = rest.get(start..).unwrap_or_default();
            let word = behind.first().map_or("", String::as_str);
            let line = match (word.starts_with('-'), word.split_once('=')) {
                // `--split-string=…`
                (true, Some((_, line))) => line.to_owned(),
                (true, None) => continue,
                // A word may be a whole line, as with `eval "…"`.
                (false, _) => behind.join(" "),
            };
            self.line(&line, depth?)?;
        }
        Some(())
    }
}

/// The line without what leads its input and output elsewhere, which may stand between any two
/// words: `git 2>/dev/null push`.
fn without_redirections(line: &str) -> String {
    let (mut out, mut quote) = (String::with_capacity(line.len()), None);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, '<' | '>') => {
                // A number or a name of a file that is open stands before it.
                if out.ends_with('&') {
                    out.pop();
                }
                let number = out.trim_end_matches(|c: char| c.is_ascii_digit()).len();
                let before = out.get(..number).unwrap_or_default();
                if before.is_empty() || before.ends_with(char::is_whitespace) {
                    out.truncate(number);
                }
                let mut operator = String::new();
                while let Some(c) = chars.next_if(|c| "<>&|-".contains(*c)) {
                    operator.push(c);
                }
                // `2>&-` closes, and leads nowhere.
                if operator.ends_with("&-") {
                    out.push(' ');
                    continue;
                }
                while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                let mut inner = None;
                while let Some(c) = chars
                    .next_if(|c| inner.is_some() || !(c.is_whitespace() || ";&|()<>".contains(*c)))
                {
                    match (inner, c) {
                        (None | Some('"'), '\\') => drop(chars.next()),
                        (None, '\'' | '"') => inner = Some(c),
                        (Some(open), c) if c == open => inner = None,
                        _ => {}
                    }
                }
                out.push(' ');
                continue;
            }
            (None, '\\') => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// `NAME=value` before a program.
fn is_setting(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_[]+@*".contains(c))
    })
}

/// The words of one command, without quotes and backslashes.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(chars.next()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    //! Commands are found however they are wrapped.

    use super::commands_in;

    #[test]
    fn programs_around_a_command_do_not_hide_it() {
        for line in [
            "rm -f x",
            "/bin/rm -f x",
            "bash -c rm -f x",
            "bash -c 'rm -f x'",
            "sh -lc \"rm -f x\"",
            "/usr/bin/env rm -f x",
            "env -i A=1 rm -f x",
            "A=1 B=2 rm -f x",
            "sudo -u me rm -f x",
            "timeout 5 rm -f x",
            "nice -n 5 /bin/rm -f x",
            "true && rm -f x",
            "echo $(rm -f x)",
            "eval 'rm -f x'",
            "bash -c \"sh -c 'rm -f x'\"",
            "'rm' -f x",
            "r\\m -f x",
            "busybox rm -f x",
            "find . -exec rm -f x",
            "time -p rm -f x",
            "if true; then rm -f x; fi",
            "! rm -f x",
            "rm \\\n-f x",
            ">/dev/null rm -f x",
            "2>&1 rm -f x",
            "< f rm -f x",
            "&>/dev/null rm -f x",
            ">|o rm -f x",
            "{fd}<f rm -f x",
            "<<<a rm -f x",
            "a=1 >o b=2 rm -f x",
            "a+=b rm -f x",
            "a[0]=1 rm -f x",
            "bash -c -- 'rm -f x'",
            "sh -c -e 'rm -f x'",
            "bash --norc -c 'rm -f x'",
            "bash --rcfile f -c 'rm -f x'",
            "rbash -c 'rm -f x'",
            "{rm,-f,x}",
            "trap 'rm -f x' EXIT",
            "flock f rm -f x",
        ] {
            let found = commands_in(line).unwrap();
            assert!(
                found.iter().any(|command| command.starts_with("rm -f x")),
                "{line}: {found:?}"
            );
        }
        for line in ["echo rm", "ls rm -f x", "git rm x", "grep -c rm x", ""] {
            let found = commands_in(line).unwrap();
            assert!(!found.iter().any(|command| command.starts_with("rm")), "{line}: {found:?}");
        }
    }

    #[test]
    fn what_stands_between_the_words_of_a_command_does_not_hide_it() {
        for line in [
            "git >/dev/null push",
            "git 2>/dev/null push",
            "git 2>&1 push",
            "git &>/dev/null push",
            "git <<<x push",
            "git <<< 'a b' push",
            "git </dev/null push",
            "git >'a b' push",
            "git >|o >>p push",
            "git 2>&- push",
            "git&>/dev/null push",
            "git >/dev/null\\ x push",
            "#\\\ngit push",
            "A=$PWD git push",
            "git -C \"$PWD\" push",
            "git -C $(pwd) push",
            "env A=$HOME git push",
            "git -C . >/dev/null push",
            "sh -c 'git >/dev/null push'",
            "git {push,origin}",
            "git {push,}",
            "jobs -x git push",
            "git $(true) push; git push",
        ] {
            let found = commands_in(line).unwrap_or_default();
            assert!(found.iter().any(|one| one.starts_with("git push")), "{line}: {found:?}");
        }
        for line in [
            "git p$''ush",
            "git p$\"\"ush",
            "env -S'git push'",
            "env -iS'git push'",
            "env -S 'git\\_push'",
            "env --split-string='git push'",
            "sh -c '\"$@\"' -- git push",
        ] {
            assert_eq!(commands_in(line), None, "{line}");
        }
        for line in ["echo 'a > b'", "awk '{print $1}' f", "ls > out", "cat <<EOF\ntext\nEOF"] {
            assert!(commands_in(line).is_some(), "{line}");
        }
    }

    #[test]
    fn options_before_a_command_of_a_program_do_not_hide_it() {
        for line in [
            "git push",
            "git -C . push",
            "git -C. push",
            "git -c a.b=c --no-pager push origin",
            "git --git-dir x --work-tree y push",
            "sudo git -C / push",
        ] {
            let found = commands_in(line).unwrap();
            assert!(found.iter().any(|one| one.starts_with("git push")), "{line}: {found:?}");
        }
        for line in ["git log push", "git log --grep push", "git add -- push"] {
            let found = commands_in(line).unwrap();
            assert!(!found.iter().any(|one| one.starts_with("git push")), "{line}: {found:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_is_not_passed_over() {
        for line in ["env ".repeat(10_000), "bash -c ".repeat(10_000), "sudo ".repeat(9) + "rm x"] {
            assert_eq!(commands_in(&line), None, "{}", line.len());
        }
        for line in [r"$'\x72m' x", "echo 'rm x' | sh", "/bin/r[m] x", "bash < f"] {
            assert_eq!(commands_in(line), None, "{line}");
        }
        assert!(commands_in("[ -f x ] && [[ -f y ]]").is_some());
        assert_eq!(commands_in(&"a;".repeat(100_000)).unwrap().len(), 100_000);
    }
}
