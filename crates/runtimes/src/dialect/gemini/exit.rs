//! What Gemini CLI's exit codes mean.
//!
//! A provider's HTTP status comes out modulo 256 (401 as 145); the CLI's own troubles have
//! codes of their own.

use super::super::{Ending, Exit, StopReason, stderr};
use wire::{Category, Fault};

const TRUST_REMEDY: &str =
    "trust this folder in Gemini CLI, or set GEMINI_CLI_TRUST_WORKSPACE=true";
const AUTH_REMEDY: &str = "run `gemini` once and log in, or set GEMINI_API_KEY";

/// What it says on every run.
const CHATTER: [&str; 4] = ["Warning: ", "YOLO mode ", "Ripgrep is not ", "[STARTUP] "];

/// How the turn ended when the CLI left without a result.
pub(super) fn ending(exit: &Exit, error: Option<String>) -> Ending {
    match exit.code {
        Some(53) => return Ending::Stopped(StopReason::MaxTurnRequests),
        Some(130) => return Ending::Stopped(StopReason::Cancelled),
        _ => {}
    }
    let failure = match error {
        Some(message) => super::failure_of(&message),
        None => stderr::failure_among(exit, &CHATTER),
    };
    Ending::Failed(clarified(failure, exit))
}

/// A failure with the category that the exit code tells.
pub(super) fn clarified(failure: Fault, exit: &Exit) -> Fault {
    // A session that is not there is bad input to Gemini CLI.
    if failure.category == Category::SessionLost {
        return failure;
    }
    let category = |category| Fault { category, ..failure.clone() };
    match exit.code {
        Some(41) => category(Category::Auth).remedy(AUTH_REMEDY),
        Some(42 | 52) => category(Category::BadInput),
        Some(55) => category(Category::Rejected).remedy(TRUST_REMEDY),
        Some(code) => match status_of(code) {
            Some(status) => category(Category::classify(Some(status), &failure.message)),
            None => failure,
        },
        None => failure,
    }
}

/// The HTTP status behind an exit code. From 512 on they fall among other codes and only
/// 529 is told apart.
fn status_of(code: i32) -> Option<u64> {
    match code {
        17 => Some(529),
        144..=255 => u64::try_from(code + 256).ok(),
        _ => None,
    }
}
