//! What the page is told of a log that a test wrote by hand: events in, changes out.
//!
//! The page's tests are written as logs and run this. On stdin is a list of events, whose turns and
//! questions may be called anything; on stdout the list of what is told of each.

use std::collections::BTreeMap;
use std::io::Read;

use projection::Vocabulary;
use serde_json::Value;
use wire::{CallId, Event, Json, Kind, Millis, Seq, TurnId};

#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut names = BTreeMap::new();
    let mut vocabulary = Vocabulary::conversation();
    let mut told = Vec::new();
    for event in serde_json::from_str::<Vec<Value>>(&text)? {
        let event = read(event, &mut names).ok_or("not an event")?;
        told.extend(vocabulary.frames(&event).into_iter().map(|frame| frame.data));
    }
    let mut told = Json::of(&told).as_str().to_owned();
    for (id, name) in names {
        told = told.replace(&id, &name);
    }
    println!("{told}");
    Ok(())
}

/// An event, with ids in the place of names.
fn read(mut event: Value, names: &mut BTreeMap<String, String>) -> Option<Event> {
    let turn = event["turn"].as_str().map(|name| {
        let turn = TurnId::derived(&[name.as_bytes()]);
        names.insert(turn.to_string(), name.to_owned());
        turn
    });
    let payload = event.get_mut("payload")?;
    if let Some(request) = payload.get_mut("requestId")
        && let Some(name) = request.as_str().map(str::to_owned)
    {
        let id = CallId::derived(&[name.as_bytes()]);
        *request = id.to_string().into();
        names.insert(id.to_string(), name);
    }
    let payload = Json::of(payload);
    Some(Event {
        seq: Seq(event["seq"].as_u64()?),
        at: Millis(event["time"].as_i64()?),
        turn,
        kind: Kind::from_log(event["kind"].as_str()?),
        payload,
    })
}
