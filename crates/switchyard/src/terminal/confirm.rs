//! Asks a person at the terminal whether to go on.

use std::io::Write as _;

use crate::outcome::{ERROR, Failure};
use crate::terminal;

/// Fails with `refusal` unless somebody says yes, or has said so with `--yes`.
pub(crate) fn confirm(question: &str, refusal: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !terminal::can_ask() {
        return Err(Failure::usage("nobody is there to confirm").hint("add --yes"));
    }
    let _ = write!(std::io::stderr(), "{question} [y/N] ");
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    match line.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Failure::new(ERROR, refusal)),
    }
}
