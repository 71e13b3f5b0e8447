//! The event stream of a session, as messages for the chat.

use client::{ClientError, DaemonClient, FollowerMessage};
use tokio::sync::mpsc;
use wire::Seq;

use crate::effect::{ChatMessage, ConnectionState};

/// Passes on the events after `after`, until the receiver is gone or the stream is over.
pub(super) async fn follow(
    client: DaemonClient,
    session: String,
    after: u64,
    messages: mpsc::Sender<ChatMessage>,
) {
    let mut follower = client.follow(&session, Seq(after));
    loop {
        let item = match follower.next().await {
            FollowerMessage::Live => ChatMessage::Link(ConnectionState::Live),
            FollowerMessage::Event(event) => ChatMessage::Event(event),
            FollowerMessage::Restarted => ChatMessage::Resync,
            FollowerMessage::Halted(why) => ChatMessage::Halted(why),
            FollowerMessage::Lost(why) => ChatMessage::Link(ConnectionState::Lost(why)),
            FollowerMessage::Over(error) => {
                let _ =
                    messages.send(ChatMessage::Link(ConnectionState::Over(words(&error)))).await;
                return;
            }
        };
        if messages.send(item).await.is_err() {
            return;
        }
    }
}

fn words(error: &ClientError) -> String {
    match error.status() {
        Some(404) => "the session does not exist any more".to_owned(),
        _ => error.to_string(),
    }
}
