//! The stream of a session's events, which finds its way back.
//!
//! In: a session and the last event that was heard. Out: each event once and in order, and
//! the truth about the connection.

use std::time::Duration;

use client::{Client, ClientError, Told};
use tokio::sync::mpsc;

use crate::effect::{Link, News};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Why a stream ended.
enum Ended {
    /// Nobody listens.
    Unwanted,
    /// It can be opened again.
    Cut(String),
    /// It cannot.
    Over(String),
}

pub(super) async fn follow(client: Client, session: String, after: u64, news: mpsc::Sender<News>) {
    let mut cursor = after.to_string();
    let mut pause = FIRST_PAUSE;
    loop {
        let before = cursor.clone();
        let why = match once(&client, &session, &mut cursor, &news).await {
            Ended::Unwanted => return,
            Ended::Over(why) => {
                let _ = news.send(News::Link(Link::Over(why))).await;
                return;
            }
            Ended::Cut(why) => why,
        };
        if cursor != before {
            pause = FIRST_PAUSE;
        }
        if news.send(News::Link(Link::Lost(why))).await.is_err() {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn once(
    client: &Client,
    session: &str,
    cursor: &mut String,
    news: &mpsc::Sender<News>,
) -> Ended {
    let mut events = match client.events(session, cursor).await {
        Ok(events) => events,
        Err(ClientError::Refused { status: 404, .. }) => {
            return Ended::Over("the session does not exist any more".to_owned());
        }
        Err(error) if error.is_final() => return Ended::Over(error.to_string()),
        Err(error) => return Ended::Cut(error.to_string()),
    };
    loop {
        let told = match events.next().await {
            Ok(Some(told)) => told,
            Ok(None) => return Ended::Cut("the daemon has ended the stream".to_owned()),
            Err(error) => return Ended::Cut(error.to_string()),
        };
        let item = match told {
            Told::Event(event, id) => {
                *cursor = id;
                News::Event(event)
            }
            Told::Remark(name, data) => match name.as_str() {
                "stream" => News::Link(Link::Live),
                "state_resync_required" => {
                    "0".clone_into(cursor);
                    News::Resync
                }
                "slow_client_warning" => continue,
                "session_halted" => {
                    News::Halted(data["detail"].as_str().unwrap_or_default().to_owned())
                }
                "session_deleted" => return Ended::Over("the session was deleted".to_owned()),
                "client_evicted" => return Ended::Cut("we were too slow".to_owned()),
                "daemon_stopping" => return Ended::Cut("the daemon stops".to_owned()),
                "stream_error" => {
                    let why = data["detail"].as_str().unwrap_or("the log cannot be read");
                    return Ended::Cut(why.to_owned());
                }
                _ => continue,
            },
        };
        if news.send(item).await.is_err() {
            return Ended::Unwanted;
        }
    }
}
