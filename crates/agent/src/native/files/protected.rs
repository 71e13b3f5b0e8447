//! Places whose files make somebody run something later: hooks, shells, editors, agents.
//!
//! Allowing edits for a session must not mean these: each is asked about by its own name, also
//! where nothing is there yet.

use roots::ResolvedPath;

use super::Files;
use crate::native::tool_call::CallNeed;

pub(in crate::native) fn is_protected(place: &ResolvedPath) -> bool {
    let n_below = place.relative().components().count();
    let root = place.real().ancestors().nth(n_below);
    root.is_some_and(|root| roots::is_protected(root, place.real()))
}

impl Files {
    /// The permission that changing these files takes.
    pub(in crate::native) fn need_to_change(&self, places: &[&ResolvedPath]) -> CallNeed {
        let mut special: Vec<_> = places
            .iter()
            .filter(|place| is_protected(place))
            .map(|place| self.shown(place))
            .collect();
        special.sort();
        special.dedup();
        let key = match special.as_slice() {
            [] => "edit".to_owned(),
            special => format!("edit:protected:{}", special.join(",")),
        };
        CallNeed::Permission { key }
    }
}

#[cfg(test)]
mod tests;
