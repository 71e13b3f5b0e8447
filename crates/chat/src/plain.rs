//! Without a terminal: one prompt a line, answers as text.
//!
//! In: lines. Out: what the agent answers, made safe, as `switchyard run` shows it. Each prompt
//! is sent when the turn before it has ended; after the last line the last turn is seen to
//! its end. Nobody is there to ask, so questions are rejected.

use std::io::{self, Write};

use client::{ClientError, DaemonClient, FollowerMessage, encoded};
use projection::{LogReader, TextOptions, TextProjection};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use wire::event::StopReason;
use wire::{Event, OwnEvent, Seq};

use crate::app::{agents, create, last_session};
use crate::error::ChatError;
use crate::info::SessionInfo;
use crate::{ChatOptions, ChatOutcome, ChatStart};

/// Lines of input, as they are typed or piped; ends with them.
pub type InputLines = mpsc::Receiver<String>;

/// Attempts in a row to open the stream again, for about half a minute.
const MAX_LOST: u32 = 10;

/// Runs a session line by line until the lines end or `stop` is ready.
pub async fn plain(
    client: DaemonClient,
    wanted: ChatOptions,
    mut lines: InputLines,
    mut out: impl Write,
    stop: impl Future<Output = ()>,
) -> Result<ChatOutcome, ChatError> {
    tokio::pin!(stop);
    // A session is made only when there is a first prompt for it.
    let mut first = None;
    if matches!(wanted.start, ChatStart::New(_) | ChatStart::AnyAgent) {
        first = tokio::select! {
            line = next(&mut lines) => line,
            () = &mut stop => return Ok(ChatOutcome::default()),
        };
        if first.is_none() {
            return Ok(ChatOutcome::default());
        }
    }
    let opening = open(&client, &wanted);
    let session = tokio::select! {
        session = opening => session?,
        () = &mut stop => return Ok(ChatOutcome::default()),
    };
    let style =
        TextOptions { color: wanted.has_color, width: 0, verbose: false, show_thinking: false };
    let mut talk = LineSession {
        base: format!("/v1/sessions/{}", encoded(&session.id)),
        cursor: Seq(session.head),
        text: LogReader::new(TextProjection::new(style)),
        client,
        session,
        left: ChatOutcome::default(),
        was_denied: false,
        was_cancelled: false,
    };
    talk.left.session = Some(talk.session.id.clone());
    loop {
        let line = match first.take() {
            Some(line) => Some(line),
            None => tokio::select! {
                line = next(&mut lines) => line,
                () = &mut stop => return Ok(talk.left),
            },
        };
        let Some(line) = line else { return Ok(talk.left) };
        tokio::select! {
            taken = talk.turn(line.trim(), &mut out) => taken?,
            () = &mut stop => {
                talk.cancel().await;
                talk.left.stop.get_or_insert(StopReason::Cancelled);
                return Ok(talk.left);
            }
        }
    }
}

/// The next line that is not blank.
async fn next(lines: &mut InputLines) -> Option<String> {
    loop {
        let line = lines.recv().await?;
        if !line.trim().is_empty() {
            return Some(line);
        }
    }
}

async fn open(client: &DaemonClient, wanted: &ChatOptions) -> Result<SessionInfo, ChatError> {
    let params = &wanted.create_params;
    let session = match &wanted.start {
        ChatStart::New(agent) => create(client, params, agent.clone()).await?,
        ChatStart::AnyAgent => {
            let (found, _) = agents(client).await?;
            let ready: Vec<String> =
                found.into_iter().filter(|agent| agent.is_usable).map(|agent| agent.id).collect();
            match ready.as_slice() {
                [] => return Err(ChatError::NoAgent),
                [only] => create(client, params, Some(only.clone())).await?,
                several => return Err(ChatError::WhichAgent(several.join(", "))),
            }
        }
        ChatStart::Session(id) => get(client, id).await?,
        ChatStart::Continue | ChatStart::AnySession => {
            get(client, &last_session(client, &wanted.cwd).await?).await?
        }
    };
    Ok(session)
}

async fn get(client: &DaemonClient, id: &str) -> Result<SessionInfo, ClientError> {
    client.get(&format!("/v1/sessions/{}", encoded(id))).await
}

struct LineSession {
    client: DaemonClient,
    session: SessionInfo,
    base: String,
    cursor: Seq,
    text: LogReader<TextProjection>,
    left: ChatOutcome,
    /// A question of the running turn was rejected.
    was_denied: bool,
    was_cancelled: bool,
}

impl LineSession {
    /// One prompt and all that follows.
    async fn turn(&mut self, text: &str, out: &mut impl Write) -> Result<(), ChatError> {
        let mut follower = self.client.follow(&self.session.id, self.cursor);
        let body = json!({ "prompt": text });
        let accepted: Value = self.client.post(&format!("{}/prompt", self.base), &body).await?;
        let turn = accepted["turnId"].as_str().unwrap_or_default().to_owned();
        (self.was_denied, self.was_cancelled, self.left.limit) = (false, false, None);
        let mut n_lost = 0;
        loop {
            match follower.next().await {
                FollowerMessage::Event(event) => {
                    n_lost = 0;
                    self.cursor = event.seq;
                    let shown = self.text.read(&event);
                    out.write_all(shown.as_bytes()).map_err(ChatError::Write)?;
                    out.flush().map_err(ChatError::Write)?;
                    self.reject(&event).await;
                    if self.is_end(&event, &turn) {
                        return Ok(());
                    }
                }
                FollowerMessage::Halted(why) => return Err(ChatError::Halted(why)),
                // The log goes on where we were.
                FollowerMessage::Lost(_) if n_lost < MAX_LOST => n_lost += 1,
                FollowerMessage::Lost(why) => return Err(ChatError::Lost(why)),
                FollowerMessage::Over(error) => return Err(error.into()),
                FollowerMessage::Live | FollowerMessage::Restarted => {}
            }
        }
    }

    fn is_end(&mut self, event: &Event, turn: &str) -> bool {
        let is_ours = event.turn.is_some_and(|of| of.as_str() == turn);
        match event.own() {
            Some(OwnEvent::CancelRequested(_)) => {
                self.was_cancelled = true;
                false
            }
            Some(OwnEvent::TurnEnded(ended)) if is_ours => {
                // Some agents end their turn as cancelled when they are told no.
                let was_told_no = self.was_denied && !self.was_cancelled;
                self.left.was_cut_by_denial = ended.stop_reason == StopReason::Cancelled
                    && (self.left.limit.is_some() || was_told_no);
                self.left.stop = Some(ended.stop_reason);
                true
            }
            Some(OwnEvent::PromptDropped(_)) if is_ours => {
                self.left.stop = Some(StopReason::Cancelled);
                true
            }
            _ => false,
        }
    }

    /// Rejects a question: nobody is there to ask.
    async fn reject(&mut self, event: &Event) {
        let Some(asked) = event.question_for_person() else { return };
        (self.left.was_denied, self.was_denied) = (true, true);
        self.left.limit = asked.limit.or(self.left.limit);
        let path = format!("{}/permissions/{}", self.base, asked.id);
        // One that somebody else has answered needs no answer.
        let _ = self.client.post::<Value>(&path, &json!({ "outcome": "unattended" })).await;
    }

    async fn cancel(&self) {
        let _ = self.client.post::<Value>(&format!("{}/cancel", self.base), &json!({})).await;
    }
}

/// Lines of stdin, read on a thread that nothing can interrupt.
pub fn lines_of_stdin() -> InputLines {
    const MAX_WAITING: usize = 16;
    let (sender, lines) = mpsc::channel(MAX_WAITING);
    std::thread::spawn(move || {
        for line in io::stdin().lines() {
            let Ok(line) = line else { break };
            if sender.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}
