//! Which of many paths fit a few letters best.
//!
//! A path fits if it has the letters in their order, whatever their case. The fewer other
//! letters are in between, and the nearer they are to the file's own name, the better.

use std::collections::BinaryHeap;

/// How well a path fits; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Name,
    NameBegins,
    NameHas,
    PathHas,
    InOrder,
}

/// Compared by fit, then those near the top, then the shorter, then by name.
type Ranked = (Fit, usize, usize, String);

/// The best so far; never more than were asked for.
#[derive(Debug)]
pub(super) struct Best {
    query: String,
    limit: usize,
    /// The worst of them is on top.
    found: BinaryHeap<Ranked>,
}

impl Best {
    pub(super) fn new(query: &str, limit: usize) -> Self {
        let query = query.trim().to_lowercase();
        Self { query, limit, found: BinaryHeap::new() }
    }

    pub(super) fn offer(&mut self, path: &str) {
        let Some(fit) = fit(path, &self.query) else { return };
        let ranked = (fit, path.matches('/').count(), path.len(), path.to_owned());
        if self.found.len() < self.limit {
            self.found.push(ranked);
        } else if let Some(mut worst) = self.found.peek_mut()
            && ranked < *worst
        {
            *worst = ranked;
        }
    }

    /// The best first.
    pub(super) fn into_paths(self) -> Vec<String> {
        self.found.into_sorted_vec().into_iter().map(|(_, _, _, path)| path).collect()
    }
}

fn fit(path: &str, query: &str) -> Option<Fit> {
    let path = path.to_lowercase();
    let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
    let fit = if name == query {
        Fit::Name
    } else if name.starts_with(query) {
        Fit::NameBegins
    } else if name.contains(query) {
        Fit::NameHas
    } else if path.contains(query) {
        Fit::PathHas
    } else if is_in_order(&path, query) {
        Fit::InOrder
    } else {
        return None;
    };
    Some(fit)
}

fn is_in_order(path: &str, query: &str) -> bool {
    let mut letters = path.chars();
    query.chars().all(|wanted| letters.any(|letter| letter == wanted))
}

#[cfg(test)]
mod tests;
