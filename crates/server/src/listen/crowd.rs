//! Who is inside, the oldest first, and who makes way when there is no place for the next.
//!
//! Whoever has not shown who it is goes first, so that strangers keep nobody out. Then a client
//! that has more than its part of the places, so that one alone does not either.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use crate::guard::Activity;

/// The part of the places that one client may have while others want one: a quarter.
const PART: usize = 4;

#[derive(Debug)]
pub(super) struct Crowd {
    inside: Mutex<VecDeque<Guest>>,
    /// More can be remembered, but not be there.
    max: usize,
}

#[derive(Debug)]
struct Guest {
    cut: CancellationToken,
    activity: Weak<Activity>,
}

impl Guest {
    /// Its connection, if that is still there.
    fn activity(&self) -> Option<Arc<Activity>> {
        self.activity.upgrade().filter(|_| !self.cut.is_cancelled())
    }
}

impl Crowd {
    pub(super) fn new(max: usize) -> Self {
        Self { inside: Mutex::default(), max }
    }

    /// `cut` ends the connection and is cancelled when it has ended.
    pub(super) fn add(&self, cut: CancellationToken, activity: &Arc<Activity>) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.len() > self.max.saturating_mul(2) {
            inside.retain(|guest| guest.activity().is_some());
        }
        inside.push_back(Guest { cut, activity: Arc::downgrade(activity) });
    }

    /// What cuts the one that has to make way, if anybody has to.
    pub(super) fn next_to_go(&self) -> Option<CancellationToken> {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.retain(|guest| guest.activity().is_some());
        let is_stranger = |activity: &Activity| activity.client().is_none();
        let greedy = self.greedy(&inside);
        let is_surplus = |activity: &Activity| {
            !activity.is_busy()
                && activity.client().is_some_and(|name| Some(name) == greedy.as_deref())
        };
        let find = |is_it: &dyn Fn(&Activity) -> bool| {
            inside.iter().position(|guest| guest.activity().is_some_and(|one| is_it(&one)))
        };
        let place = find(&is_stranger).or_else(|| find(&is_surplus))?;
        inside.remove(place).map(|guest| guest.cut)
    }

    /// The client that has the most connections, if they are more than its part.
    fn greedy(&self, inside: &VecDeque<Guest>) -> Option<String> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for activity in inside.iter().filter_map(Guest::activity) {
            if let Some(name) = activity.client() {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count)?;
        (most.1 > self.max / PART).then_some(most.0)
    }
}

#[cfg(test)]
mod tests;
