//! Request ids that clients choose, for recognising requests that are repeated.
//!
//! In: the client, its request id, and a value to remember. Out: that, as long as it is remembered.
//! When there are more than `MAX`, the client that has most loses its oldest: no client loses ids
//! by the number of another's.

use std::collections::{HashMap, VecDeque};

/// A client, and the id that it gave to a request.
pub(crate) type RequestName = (String, String);

#[derive(Debug)]
pub(crate) struct RequestNames<V, const MAX: usize> {
    n: usize,
    clients: HashMap<String, ClientRequestNames<V>>,
}

#[derive(Debug)]
struct ClientRequestNames<V> {
    known: HashMap<String, V>,
    /// The oldest first.
    order: VecDeque<String>,
}

impl<V, const MAX: usize> Default for RequestNames<V, MAX> {
    fn default() -> Self {
        Self { n: 0, clients: HashMap::new() }
    }
}

impl<V, const MAX: usize> RequestNames<V, MAX> {
    pub(crate) fn get(&self, (client, name): &RequestName) -> Option<&V> {
        self.clients.get(client)?.known.get(name)
    }

    pub(crate) fn insert(&mut self, (client, name): RequestName, value: V) {
        let client = self.clients.entry(client).or_default();
        if client.known.insert(name.clone(), value).is_none() {
            client.order.push_back(name);
            self.n += 1;
        }
        if self.n > MAX {
            self.forget_one();
        }
    }

    pub(crate) fn remove(&mut self, (client, name): &RequestName) {
        let Some(known) = self.clients.get_mut(client) else { return };
        if known.known.remove(name).is_some() {
            known.order.retain(|other| other != name);
            self.n -= 1;
        }
        if known.order.is_empty() {
            self.clients.remove(client);
        }
    }

    fn forget_one(&mut self) {
        let most = self.clients.values_mut().max_by_key(|client| client.order.len());
        if let Some(client) = most
            && let Some(oldest) = client.order.pop_front()
        {
            client.known.remove(&oldest);
            self.n -= 1;
        }
    }
}

impl<V> Default for ClientRequestNames<V> {
    fn default() -> Self {
        Self { known: HashMap::new(), order: VecDeque::new() }
    }
}

/// A digest of a request, by which two requests are compared.
pub(crate) fn digest(request: &impl serde::Serialize) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    let text = wire::Json::of(request);
    let hash = sha2::Sha256::digest(text.as_str().as_bytes());
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(client: &str, n: usize) -> RequestName {
        (client.to_owned(), n.to_string())
    }

    #[test]
    fn whoever_has_most_forgets_its_oldest() {
        let mut names = RequestNames::<_, 10>::default();
        names.insert(name("a", 1), 1);
        for n in 0..100 {
            names.insert(name("b", n), n);
        }

        assert_eq!(names.get(&name("a", 1)), Some(&1));
        assert_eq!(names.get(&name("b", 90)), None);
        assert_eq!(names.get(&name("b", 91)), Some(&91));
        assert_eq!(names.n, 10);
    }

    #[test]
    fn what_is_taken_out_is_not_counted_any_more() {
        let mut names = RequestNames::<_, 2>::default();
        for _ in 0..9 {
            names.insert(name("a", 1), 1);
            names.remove(&name("a", 1));
            names.remove(&name("a", 1));
        }

        assert_eq!(names.n, 0);
        assert!(names.clients.is_empty());
    }
}
