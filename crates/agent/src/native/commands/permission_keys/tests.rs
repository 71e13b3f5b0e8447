//! A short name is never given to a line that does more than the name says.

use proptest::prelude::*;

use super::{KNOWN_PROGRAMS, permission_key, short_name};

/// Ways past lists of allowed commands, `{}` being a command that is allowed; the part before the
/// bar says where the idea was seen.
const BYPASSES: &str = include_str!("bypasses.txt");

fn bypasses() -> impl Iterator<Item = &'static str> {
    BYPASSES.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (_, form) = line.split_once('|')?;
        Some(form)
    })
}

/// Every command of the list, as it would be allowed.
fn allowed() -> Vec<String> {
    let one = |program: &str, form: &str| format!("{program} {}", form.replace('*', "check"));
    KNOWN_PROGRAMS
        .iter()
        .flat_map(|known| known.subcommands.split('|').map(|form| one(known.program, form)))
        .collect()
}

#[test]
fn a_simple_command_is_named_by_its_program_and_what_it_does() {
    let named = [
        ("cargo test", "cargo test"),
        ("cargo test -p agent --lib native::commands", "cargo test"),
        ("cargo test -- --nocapture", "cargo test"),
        ("git log --oneline -n 20", "git log"),
        ("git diff src/main.rs", "git diff"),
        ("npm run build", "npm run build"),
        ("npm run lint:fix", "npm run lint:fix"),
        ("make test", "make test"),
        ("go test ./...", "go test"),
    ];
    for (line, name) in named {
        assert_eq!(permission_key(line, None), format!("execute:{name}"), "{line}");
    }
}

#[test]
fn anything_else_is_named_by_its_whole_text() {
    let whole = [
        "",
        " ",
        "ls",
        "ls -la",
        "rm x",
        "sudo cargo test",
        "env cargo test",
        "cargo",
        "cargo run",
        "cargo install x",
        "cargo --config x test",
        "cargo test --config x",
        "cargo test -Z x",
        "cargo test --manifest-path ../x/Cargo.toml",
        "git push",
        "git -c x status",
        "git",
        "git diff --ext-diff",
        "git diff --output x",
        "git log --output x",
        "git add ../x",
        "git blame /etc/passwd",
        "go test -exec ./x",
        "go build -toolexec ./x",
        "npm install x",
        "npm exec x",
        "npm run",
        "npm run build deploy",
        "npm test --script-shell x",
        "make test deploy",
        "make -f x test",
        "make",
        "./make test",
        "/tmp/cargo test",
        "bash -c true",
        "python x.py",
        "cargo  test",
        " cargo test",
        "cargo test ",
        "export cargo test",
        "declare cargo test",
        "npm run -s build",
        "mvn test deploy",
        "cargo test --target-dir x",
    ];
    for line in whole {
        assert_eq!(short_name(line), None, "{line}");
        assert_eq!(permission_key(line, None), format!("execute:{line}"));
    }
}

#[test]
fn no_known_bypass_gets_a_short_name() {
    let mut n = 0;
    for command in allowed() {
        for form in bypasses() {
            let form = form.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t");
            let form = form.replace("\\0", "\0").replace("\\u{a0}", "\u{a0}");
            let line = form.replace("{}", &command);
            assert_eq!(short_name(&line), None, "{line:?}");
            assert_eq!(permission_key(&line, None), format!("execute:{line}"));
            n += 1;
        }
    }
    assert!(n > 2000, "only {n} lines were tried");
}

#[test]
fn another_directory_is_another_key() {
    let here = permission_key("make test", None);
    let there = permission_key("make test", Some("sub"));
    assert_ne!(here, there);
    assert_ne!(there, permission_key("make test", Some("sub\":make")));
    // No line reads like a key of another directory.
    assert!(!permission_key(" in \"sub\":make test", None).starts_with("execute in"));
}

const METACHARACTERS: &str = ";&|<>()$`\\\"'*?[]{}~#!=%^\n\r\t\0";

proptest! {
    #[test]
    fn any_line_has_a_key(line in any::<String>()) {
        let key = permission_key(&line, None);
        prop_assert!(key.starts_with("execute:"));
    }

    #[test]
    fn a_line_with_a_metacharacter_is_named_by_its_whole_text(
        which in 0usize..allowed().len(),
        at in any::<prop::sample::Index>(),
        meta in prop::sample::select(METACHARACTERS.chars().collect::<Vec<_>>()),
        more in "[a-z ./-]{0,12}",
    ) {
        let mut line = format!("{} {more}", allowed()[which]);
        line.insert(at.index(line.len() + 1), meta);
        prop_assert_eq!(permission_key(&line, None), format!("execute:{}", line));
    }

    #[test]
    fn whatever_is_not_ascii_is_named_by_its_whole_text(
        which in 0usize..allowed().len(),
        at in any::<prop::sample::Index>(),
        strange in "[^\\x00-\\x7f]",
    ) {
        let mut line = allowed()[which].clone();
        line.insert_str(at.index(line.len() + 1), &strange);
        prop_assert_eq!(permission_key(&line, None), format!("execute:{}", line));
    }

    /// What a short name stands for begins with its words, and says nothing else to a shell.
    #[test]
    fn a_short_name_is_the_beginning_of_its_line(
        which in 0usize..allowed().len(),
        more in "( [a-z./:-]{1,10}){0,4}",
    ) {
        let line = format!("{}{more}", allowed()[which]);
        if let Some(name) = short_name(&line) {
            let is_beginning = line == name || line.starts_with(&format!("{name} "));
            prop_assert!(is_beginning);
            prop_assert!(!line.contains(|c| METACHARACTERS.contains(c)));
            prop_assert!(!line.split(' ').any(|word| word.starts_with('/') || word == ".."));
        }
    }
}
