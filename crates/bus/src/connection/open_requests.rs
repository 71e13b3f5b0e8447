//! The peer's requests that wait for an answer, bounded in number and in bytes.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use wire::RpcId;

/// Requests of the peer that may be open at once; more are refused.
const MAX_OPEN_REQUESTS: usize = 1024;
/// Bytes of all open requests, which their handlers may have to hold; a single larger one is let
/// through alone.
const MAX_OPEN_BYTES: usize = 32 << 20;
/// An id is kept by everybody who deals with the request, and is in its answer.
const MAX_ID_BYTES: usize = 1024;

/// The ids of open requests, with the requests' sizes.
#[derive(Debug, Default)]
pub(super) struct OpenRequests {
    by_id: HashMap<RpcId, usize>,
    n_bytes: usize,
    /// Answers that the peer does not read; they count as open, although their ids are free again.
    pub(super) n_unread: usize,
}

impl OpenRequests {
    /// Adds a request, or says why it is refused. A second request under an id that is still open
    /// could not be answered unambiguously.
    pub(super) fn add(&mut self, id: RpcId, n_bytes: usize) -> Result<(), &'static str> {
        let is_full = self.by_id.len() + self.n_unread >= MAX_OPEN_REQUESTS
            || self.n_bytes > 0 && self.n_bytes + n_bytes > MAX_OPEN_BYTES;
        if id.as_str().len() > MAX_ID_BYTES {
            return Err("its id is too long");
        }
        match self.by_id.entry(id) {
            Entry::Occupied(_) => Err("a request with this id is still open"),
            Entry::Vacant(_) if is_full => Err("too many requests are open"),
            Entry::Vacant(place) => {
                place.insert(n_bytes);
                self.n_bytes += n_bytes;
                Ok(())
            }
        }
    }

    pub(super) fn remove(&mut self, id: &RpcId) -> bool {
        let n_bytes = self.by_id.remove(id);
        self.n_bytes -= n_bytes.unwrap_or_default();
        n_bytes.is_some()
    }
}

#[cfg(test)]
mod tests {
    //! Counted by number and by bytes, and given back.

    use super::*;

    #[test]
    fn what_is_open_is_bounded_in_bytes() {
        let mut open = OpenRequests::default();
        let id = |n: u64| RpcId::number(n);
        open.add(id(0), 2 * MAX_OPEN_BYTES).unwrap();
        open.add(id(1), 1).unwrap_err();
        assert!(open.remove(&id(0)) && !open.remove(&id(0)));
        open.add(id(1), MAX_OPEN_BYTES - 1).unwrap();
        open.add(id(1), 0).unwrap_err();
        open.add(id(2), 1).unwrap();
        open.add(id(3), 1).unwrap_err();
        assert!(open.remove(&id(1)));
        for n in 3..=MAX_OPEN_REQUESTS as u64 + 1 {
            open.add(id(n), 1).unwrap();
        }
        open.add(id(0), 1).unwrap_err();
        assert!(open.remove(&id(3)));
        open.n_unread = 1;
        open.add(id(0), 1).unwrap_err();
        open.n_unread = 0;
        open.add(id(0), 1).unwrap();
        assert!(open.remove(&id(0)));
        let asked = format!(r#"{{"id":"{}","method":"m"}}"#, "x".repeat(MAX_ID_BYTES));
        let long = wire::Message::parse(asked.into()).unwrap().id();
        open.add(long, 1).unwrap_err();
    }
}
