//! What agents offered last, for sessions whose agent rests: a choice of models must not be
//! gone because nobody has prompted for a while.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use sessions::session::Offer;
use wire::SessionId;

/// Ids begin with their time, so the oldest session is forgotten first.
const MAX_KEPT: usize = 500;

#[derive(Debug, Default)]
pub(crate) struct Offers(Mutex<BTreeMap<SessionId, Offer>>);

impl Offers {
    /// `offer`, which is kept; without one, what was kept last.
    pub(super) fn newest(&self, session: SessionId, offer: Option<Offer>) -> Option<Offer> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(offer) = offer else { return kept.get(&session).cloned() };
        kept.insert(session, offer.clone());
        if kept.len() > MAX_KEPT {
            kept.pop_first();
        }
        Some(offer)
    }
}
