//! The event stream of a session, as messages for the chat.

use client::{Client, ClientError, Heard};
use tokio::sync::mpsc;
use wire::Seq;

use crate::effect::{Link, News};

/// Passes on the events after `after`, until the receiver is gone or the stream is over.
pub(super) async fn follow(client: Client, session: String, after: u64, news: mpsc::Sender<News>) {
    let mut follower = client.follow(&session, Seq(after));
    loop {
        let item = match follower.next().await {
            Heard::Live => News::Link(Link::Live),
            Heard::Event(event) => News::Event(event),
            Heard::Anew => News::Resync,
            Heard::Halted(why) => News::Halted(why),
            Heard::Lost(why) => News::Link(Link::Lost(why)),
            Heard::Over(error) => {
                let _ = news.send(News::Link(Link::Over(words(&error)))).await;
                return;
            }
        };
        if news.send(item).await.is_err() {
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
