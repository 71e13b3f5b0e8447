//! Assigns fragments to the tool calls that they belong to.
//!
//! Endpoints number the calls of an answer, but some leave the number out, some give all calls
//! the number 0, and some repeat name and id with every fragment. What comes out is a dense
//! number per call, in the order in which calls begin.

use std::collections::HashSet;

/// Most calls of one answer: no model runs more at once; beyond that an answer is broken.
pub(super) const MAX_CALLS: usize = 256;

#[derive(Debug, Default)]
pub(super) struct CallSlots {
    calls: Vec<CallSlot>,
    ids: HashSet<String>,
    last: Option<usize>,
}

#[derive(Debug, Default)]
struct CallSlot {
    index: Option<u64>,
    id: Option<String>,
    has_name: bool,
    /// Tells whether the arguments are a whole JSON value so far.
    arguments: JsonBalance,
}

/// A fragment as it came.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallFragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
}

/// The call that a fragment belongs to, and whether its name and id are the call's first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FragmentPlace {
    pub(super) slot: usize,
    pub(super) is_first_name: bool,
    pub(super) is_first_id: bool,
}

impl CallSlots {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    pub(super) fn place(&mut self, fragment: CallFragment<'_>) -> Option<FragmentPlace> {
        let at = match self.known(fragment) {
            Some(at) => at,
            None if self.calls.len() < MAX_CALLS => {
                self.calls.push(CallSlot { index: fragment.index, ..CallSlot::default() });
                self.calls.len() - 1
            }
            None => return None,
        };
        self.last = Some(at);
        let slot = self.calls.get_mut(at)?;
        let is_first_name = fragment.name.is_some() && !slot.has_name;
        slot.has_name |= fragment.name.is_some();
        let is_first_id = fragment.id.is_some() && slot.id.is_none();
        if let (true, Some(id)) = (is_first_id, fragment.id) {
            slot.id = Some(id.to_owned());
            self.ids.insert(id.to_owned());
        }
        slot.arguments.feed(fragment.arguments);
        Some(FragmentPlace { slot: at, is_first_name, is_first_id })
    }

    fn known(&self, fragment: CallFragment<'_>) -> Option<usize> {
        if let Some(id) = fragment.id
            && self.ids.contains(id)
        {
            return self.calls.iter().position(|slot| slot.id.as_deref() == Some(id));
        }
        // The latest that has this number: a number may be used twice.
        let at = match fragment.index {
            Some(index) => self.calls.iter().rposition(|slot| slot.index == Some(index))?,
            None => self.last?,
        };
        let slot = self.calls.get(at)?;
        // Another id, or a name after everything was said: another call.
        let is_other = match (fragment.id, &slot.id) {
            (Some(_), Some(_)) => true,
            (Some(_), None) if fragment.index.is_none() => slot.has_name,
            _ => fragment.name.is_some() && slot.has_name && slot.arguments.is_whole(),
        };
        (!is_other).then_some(at)
    }
}

/// Follows brackets and strings of JSON that comes in pieces.
#[derive(Debug, Default)]
struct JsonBalance {
    depth: usize,
    has_begun: bool,
    in_string: bool,
    after_backslash: bool,
}

impl JsonBalance {
    fn feed(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                match byte {
                    _ if self.after_backslash => self.after_backslash = false,
                    b'\\' => self.after_backslash = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.depth += 1;
                    self.has_begun = true;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests;
