//! Stray messages: those of an agent that belong to no session, passed on to the client.

use std::sync::Arc;

use bus::connection::Connection;
use wire::RpcError;

use super::{Front, refusal};
use crate::host::{AgentMessage, Host};
use crate::lock::lock;
use crate::session::{is_of_client, passes_for_judged};

impl Front {
    /// Passes on the agent's messages that belong to no session, from now on.
    pub(super) fn follow_sessionless(&self, host: &Arc<Host>) {
        {
            let mut last = lock(&self.last_host);
            if last.as_ref().is_some_and(|last| Arc::ptr_eq(last, host)) {
                return;
            }
            *last = Some(host.clone());
        }
        let (mut sessionless, agent) = (host.routes.take_sessionless(), host.connection.clone());
        let client = self.client.clone();
        self.tasks.spawn(task::boxed(async move {
            while let Some(batch) = sessionless.recv().await {
                for message in batch {
                    pass_sessionless(message, &client, &agent).await;
                }
            }
        }));
    }
}

async fn pass_sessionless(message: AgentMessage, client: &Connection, agent: &Connection) {
    match message {
        AgentMessage::Notification(message) if !is_kept_from_clients(message.method()) => {
            let _ = client.notify_in_turn(message.method(), &message.body_json()).await;
        }
        // Rules and modes that could judge it are those of a session.
        AgentMessage::Request(message) if needs_session(message.method()) => {
            let error = RpcError::invalid_params("`sessionId` names no session");
            let _ = agent.respond(&message.id(), Err(error)).await;
        }
        AgentMessage::Request(message) => {
            let (client, agent) = (client.clone(), agent.clone());
            task::spawn(async move {
                let answer = client.call(message.method(), &message.body_json()).await;
                let _ = agent.respond(&message.id(), answer.map_err(refusal)).await;
            });
        }
        _ => {}
    }
}

fn needs_session(method: &str) -> bool {
    // A form may be about a request that is in no session.
    let is_form = method == "elicitation/create";
    let is_of_session = method.trim_start().to_ascii_lowercase().starts_with("session/");
    is_of_client(method) || is_of_session || passes_for_judged(method) && !is_form
}

/// Whether an agent's notification is not passed on: a client would take it for ours, or do what
/// only a request may ask for, which is judged. Those of adapters are neither.
pub(super) fn is_kept_from_clients(method: &str) -> bool {
    const OF_ADAPTERS: [&str; 2] = ["_switchyard/raw", "_switchyard/update"];
    let is_ours = method.starts_with("_switchyard/") && !OF_ADAPTERS.contains(&method);
    is_ours || is_of_client(method) || passes_for_judged(method)
}

#[cfg(test)]
mod tests {
    //! What is judged in a session comes by no other way; what is the agent's own does.

    use super::*;

    #[test]
    fn methods_that_clients_may_take_for_others_are_kept() {
        for method in [
            "session/request_permission",
            "Session/Request_Permission",
            "/fs/read_text_file",
            "\u{200b}fs/write_text_file",
            "fs.read_text_file",
            "terminal.create",
            "Session/Update",
        ] {
            assert!(is_kept_from_clients(method) && needs_session(method), "{method:?}");
        }
        for method in ["_x/y", "myagent/foo", "elicitation/complete", "_switchyard/raw", "fsx/y"] {
            assert!(!is_kept_from_clients(method) && !needs_session(method), "{method:?}");
        }
        assert!(is_kept_from_clients("elicitation/create") && !needs_session("elicitation/create"));
    }
}
