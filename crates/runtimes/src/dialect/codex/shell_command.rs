//! The command that the model wrote, out of the shell call that Codex makes of it.

/// The script of a shell call: `echo hi` of `/bin/bash -lc 'echo hi'`. Any other command is left
/// as it is: rules about commands must see all of it.
pub(super) fn of(command: &str) -> String {
    inner(command).unwrap_or_else(|| command.to_owned())
}

/// The same for a list of arguments.
pub(super) fn of_args(args: &[&str]) -> String {
    match args {
        [shell, flag, script] if is_shell(shell) && is_flag(flag) => (*script).to_owned(),
        args => args.join(" "),
    }
}

fn inner(command: &str) -> Option<String> {
    let (shell, rest) = command.split_once(' ')?;
    let (flag, script) = rest.split_once(' ')?;
    if is_shell(shell) && is_flag(flag) { unquote(script) } else { None }
}

fn is_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    ["bash", "zsh", "sh", "dash", "ksh"].contains(&name)
}

fn is_flag(flag: &str) -> bool {
    ["-lc", "-c"].contains(&flag)
}

/// The value of a quoted shell word; `None` if the text is more than one word.
fn unquote(word: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => loop {
                match chars.next()? {
                    '\'' => break,
                    c => text.push(c),
                }
            },
            '"' => loop {
                match chars.next()? {
                    '"' => break,
                    '\\' => match chars.next()? {
                        c @ ('"' | '\\' | '$' | '`') => text.push(c),
                        '\n' => {}
                        c => text.extend(['\\', c]),
                    },
                    c => text.push(c),
                }
            },
            '\\' => text.push(chars.next()?),
            c if c.is_whitespace() || "|&;<>()$`".contains(c) => return None,
            c => text.push(c),
        }
    }
    Some(text)
}
