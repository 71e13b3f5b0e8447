//! Merges the answers of several workers to one request, and their cursors into one.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use wire::{Json, raw_members};

use super::WorkerId;

/// The prefix of cursors made here.
const CURSOR: &str = "switchyard:";
const NEXT: &str = "nextCursor";

pub(super) type NameOf<'a> = Box<dyn Fn(&str) -> Option<Arc<str>> + 'a>;

/// One worker's result, to be merged with those of others.
pub(super) struct WorkerPage<'a> {
    pub(super) worker: WorkerId,
    pub(super) result: &'a str,
    /// The alias of a session that the worker names, if it has one.
    pub(super) name_of: NameOf<'a>,
}

/// The merged result; `None` if no page is an object.
pub(super) fn merge(pages: &[WorkerPage<'_>]) -> Option<String> {
    let mut members: Vec<(String, MergedMember<'_>)> = Vec::new();
    let (mut seen, mut cursors, mut is_any) = (BTreeSet::new(), Vec::new(), false);
    for page in pages {
        let Ok(found) = raw_members(page.result) else { continue };
        is_any = true;
        for (name, raw) in found {
            if name == NEXT {
                if raw.get() != "null" {
                    cursors.push((page.worker, raw.get()));
                }
                continue;
            }
            let items = serde_json::from_str::<Vec<&RawValue>>(raw.get()).ok();
            let items = items.map(|items| listed(items, page, &mut seen));
            let known = members.iter_mut().find(|(known, _)| *known == name);
            match (known.map(|(_, merged)| merged), items) {
                (None, Some(items)) => members.push((name, MergedMember::List(items))),
                (None, None) => members.push((name, MergedMember::One(raw.get()))),
                (Some(MergedMember::List(list)), Some(items)) => list.extend(items),
                (Some(_), _) => {}
            }
        }
    }
    is_any.then(|| {
        let mut parts: Vec<String> = members
            .iter()
            .map(|(name, merged)| {
                let name = Json::of(name);
                match merged {
                    MergedMember::One(raw) => format!("{}:{raw}", name.as_str()),
                    MergedMember::List(items) => format!("{}:[{}]", name.as_str(), items.join(",")),
                }
            })
            .collect();
        if !cursors.is_empty() {
            parts.push(format!("\"{NEXT}\":\"{}\"", write_cursor(&cursors)));
        }
        format!("{{{}}}", parts.join(","))
    })
}

enum MergedMember<'a> {
    One(&'a str),
    List(Vec<Cow<'a, str>>),
}

/// The items of a list, each session once and under the name that clients know.
fn listed<'a>(
    items: Vec<&'a RawValue>,
    page: &WorkerPage<'_>,
    seen: &mut BTreeSet<String>,
) -> Vec<Cow<'a, str>> {
    #[derive(serde::Deserialize)]
    struct SessionItem<'a> {
        #[serde(borrow, rename = "sessionId")]
        session: Cow<'a, str>,
    }
    let item = |raw: &'a RawValue| {
        let Ok(SessionItem { session }) = serde_json::from_str::<SessionItem<'_>>(raw.get()) else {
            return Some(Cow::Borrowed(raw.get()));
        };
        let alias = (page.name_of)(&session);
        let is_new = seen.insert(alias.as_deref().unwrap_or(&session).to_owned());
        let renamed = match alias {
            None => Cow::Borrowed(raw.get()),
            Some(alias) => {
                let item = Json::trusted(raw.get());
                let renamed = wire::set_member(&item, &["sessionId"], &Json::of(&&*alias)).ok()?;
                Cow::Owned(renamed.as_str().to_owned())
            }
        };
        is_new.then_some(renamed)
    };
    items.into_iter().filter_map(item).collect()
}

/// `switchyard:` and, for each worker with a further page, its id and its own cursor in hex.
fn write_cursor(cursors: &[(WorkerId, &str)]) -> String {
    let hex = |raw: &str| {
        let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
        raw.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect::<String>()
    };
    let parts: Vec<_> =
        cursors.iter().map(|(worker, raw)| format!("{}={}", worker.0, hex(raw))).collect();
    format!("{CURSOR}{}", parts.join(","))
}

/// Splits a cursor made here into each worker's own, raw. `None` if it is another's.
pub(super) fn read_cursor(raw: &str) -> Option<Vec<(WorkerId, String)>> {
    let text: String = serde_json::from_str(raw).ok()?;
    let parts = text.strip_prefix(CURSOR)?.split(',');
    parts
        .map(|part| {
            let (worker, hex) = part.split_once('=')?;
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let bytes = hex.as_bytes().chunks(2).map(byte).collect::<Option<Vec<u8>>>()?;
            let cursor = String::from_utf8(bytes).ok()?;
            // It came back from outside: it must be a value, or it would break the line.
            Json::parse(cursor.clone()).ok()?;
            Some((WorkerId(worker.parse().ok()?), cursor))
        })
        .collect()
}

/// The workers of a cursor that still run, each with its own cursor.
pub(super) fn targets(
    cursors: Vec<(WorkerId, String)>,
    running: &[WorkerId],
) -> Vec<(WorkerId, Option<String>)> {
    let mut seen = BTreeSet::new();
    let cursors = cursors.into_iter();
    let fine = cursors.filter(|(worker, _)| running.contains(worker) && seen.insert(*worker));
    fine.map(|(worker, cursor)| (worker, Some(cursor))).collect()
}
