//! Permission keys of commands: what *always allow* covers.
//!
//! In: a line for the shell. Out: the name under which somebody may allow it for the rest of a
//! session. A line is only given a short name, such as `execute:cargo test`, when it is one
//! simple command out of a list whose subcommands do one thing whatever else is in the line,
//! with options that are known to change nothing about that. The name of any other line is the
//! line itself, so that *always* covers this text and no other.
//!
//! Nothing here is a boundary: it is a convenience for people who are asked. What must not
//! happen is what a sandbox is for.
//!
//! Always true: a line with a character that the shell could read in its own way never has a
//! short name, and no line has the short name of another kind of line.

/// The key of `line`, run in the session's directory, or in `elsewhere`, a directory below it.
pub(in crate::native) fn permission_key(line: &str, elsewhere: Option<&str>) -> String {
    let name = short_name(line).unwrap_or_else(|| line.to_owned());
    match elsewhere {
        None => format!("execute:{name}"),
        // Another directory has another Makefile. The quotes keep any name of a directory from
        // reading like a part of the line.
        Some(dir) => format!("execute in {dir:?}:{name}"),
    }
}

/// A program whose subcommands may be allowed one by one.
struct KnownProgram {
    program: &'static str,
    /// A word or two each, with `|` between them; `*` stands for any word that could be a name.
    subcommands: &'static str,
    /// Further words name files, packages or tests, and not more things to do.
    takes_words: bool,
    /// Options that start nothing, write nowhere else and read no other configuration.
    options: &'static str,
}

impl KnownProgram {
    const fn new(program: &'static str, subcommands: &'static str, options: &'static str) -> Self {
        Self { program, subcommands, takes_words: false, options }
    }

    const fn with_words(self) -> Self {
        Self { takes_words: true, ..self }
    }
}

const KNOWN_PROGRAMS: [KnownProgram; 13] = [
    KnownProgram::new(
        "cargo",
        "test|build|check|clippy|fmt|doc|bench|tree",
        "-- --all --all-features --all-targets --bin --bins --check --doc --example \
            --examples --features --frozen --ignored --lib --locked --no-default-features \
            --no-deps --no-fail-fast --no-run --nocapture --offline --package --quiet \
            --release --test --tests --test-threads --verbose --workspace -p -q -v",
    )
    .with_words(),
    KnownProgram::new(
        "git",
        "status|diff|log|show|blame|add|ls-files|rev-parse",
        "-- --abbrev-ref --all --branch --cached --decorate --graph --name-only \
            --name-status --no-color --no-pager --numstat --oneline --patch --porcelain \
            --short --show-toplevel --staged --stat -1 -5 -10 -20 -A -b -n -p -s -u",
    )
    .with_words(),
    KnownProgram::new("go", "test|build|vet|fmt", "-count -race -run -short -v").with_words(),
    KnownProgram::new("npm", "test|run *", "--silent -s"),
    KnownProgram::new("pnpm", "test|run *", "--silent -s"),
    KnownProgram::new("yarn", "test|run *", "--silent -s"),
    KnownProgram::new("bun", "test|run *", ""),
    // A further word may be an address, whose program it would run.
    KnownProgram::new("deno", "test|check|lint|fmt", "--quiet -q"),
    KnownProgram::new("make", "*", "-s --silent -k -j"),
    KnownProgram::new("dotnet", "test|build", "--no-restore --no-build"),
    KnownProgram::new("mvn", "test|compile|verify|package", "-q -o"),
    KnownProgram::new("gradle", "test|build|check", "-q --offline"),
    KnownProgram::new("mix", "test|compile|format", "--trace").with_words(),
];

fn short_name(line: &str) -> Option<String> {
    // One blank between words and none around them: whatever else there is between words, some
    // shell has split at it, or some person has not seen it.
    if line.is_empty() || !line.bytes().all(is_plain) || line.contains("  ") {
        return None;
    }
    let words: Vec<&str> = line.split(' ').collect();
    let (program, words) = words.split_first()?;
    let known = KNOWN_PROGRAMS.iter().find(|known| known.program == *program)?;
    let (name, rest) = known.subcommands.split('|').find_map(|form| match_form(form, words))?;
    let is_harmless = |word: &&str| match word.starts_with('-') {
        true => known.options.split(' ').any(|option| option == *word),
        false => known.takes_words && stays_inside(word),
    };
    rest.iter().all(is_harmless).then(|| format!("{program} {name}"))
}

/// The words that match a subcommand's form, and those behind them.
fn match_form<'a>(form: &str, words: &'a [&'a str]) -> Option<(String, &'a [&'a str])> {
    let n_words = form.split(' ').count();
    let (matched, rest) = words.split_at_checked(n_words)?;
    let fits = form.split(' ').zip(matched).all(|(wanted, word)| match wanted {
        "*" => is_name(word),
        wanted => wanted == *word,
    });
    fits.then(|| (matched.join(" "), rest))
}

/// Bytes that no shell reads in a way of its own, wherever they stand behind the first word.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" _-./:,+@".contains(&byte)
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte))
}

fn stays_inside(word: &str) -> bool {
    !word.is_empty() && !word.starts_with('/') && !word.split('/').any(|part| part == "..")
}

#[cfg(test)]
mod tests;
