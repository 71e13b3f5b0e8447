//! Whether an agent of ours has started this very process, and what it then does not do.
//!
//! A model may talk an agent into calling our own commands. They look, make sessions and prompt,
//! as for everybody; what is a person's to decide they leave to persons.

use crate::outcome::{ERROR, Failure};

pub(crate) fn is_worker() -> bool {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    bus::is_below_keeper(own)
}

/// Refuses what is for people, with the reason.
pub(crate) fn require_a_person(why: &str) -> Result<(), Failure> {
    match is_worker() {
        true => Err(Failure::new(ERROR, format!("this was started by an agent: {why}"))),
        false => Ok(()),
    }
}
