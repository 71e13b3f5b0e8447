//! The walls of docs/security.md, each tried from the side that it stands against.

mod many_sessions;
mod memory;
mod network;
mod own_files;
mod readers;
mod roles;
mod rules;
mod secrets;
mod shared_worker;
mod spy;
mod workers;

use serde_json::{Value, json};

use crate::serve_rest::{Api, text};

/// A session of the demo agent with what the test wants different.
async fn session(api: &Api, different: Value) -> String {
    let mut new = json!({ "agent": "demo", "cwd": api.home.work() });
    new.as_object_mut().unwrap().extend(different.as_object().unwrap().clone());
    let made = api.post("/v1/sessions", &new).await.is(201);
    made.body["id"].as_str().unwrap().to_owned()
}

/// What the demo agent says after it has done something.
async fn does(api: &Api, session: &str, deed: &str) -> String {
    let n_before = api.events(session).await.len();
    api.prompt(session, deed).await;
    api.until_idle(session).await;
    text(&api.events(session).await[n_before..])
}
