//! The full screen: one task that owns the state, and everything that reports to it.
//!
//! Keys come from a thread, events from a stream that reconnects by itself, responses from the
//! requests that effects start. All of them are bounded; drawing happens when something changed,
//! and not more often than an eye can follow.

mod files;
mod keyboard;
mod requests;

use std::time::Duration;

use client::{DaemonClient, Follower, FollowerMessage};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use wire::Seq;

use crate::effect::{ChatMessage, ConnectionState, Effect};
use crate::error::ChatError;
use crate::history::HistoryFile;
use crate::render;
use crate::render::ConversationView;
use crate::screen::Screen;
use crate::state::ChatState;
use crate::theme::Theme;
use crate::{ChatOptions, ChatOutcome, ChatStart};
use keyboard::{Keyboard, TerminalInput};
use requests::Requests;
pub(crate) use requests::{agents, create, last_session};

/// Messages that wait while the screen is drawn.
const MAX_MESSAGES: usize = 4096;
/// Messages that are handled before the next look at the keys.
const MESSAGES_AT_ONCE: usize = 2048;
/// The least time between two frames: thirty a second are plenty.
const FRAME: Duration = Duration::from_millis(33);
/// The interval of the clock: spinners turn and remarks expire also when nothing happens.
const TICK: Duration = Duration::from_millis(100);

/// Runs the chat on this terminal until it is left or `stop` is ready.
pub async fn full_screen(
    client: DaemonClient,
    wanted: ChatOptions,
    stop: impl Future<Output = ()>,
) -> Result<ChatOutcome, ChatError> {
    let history = HistoryFile::at(&wanted.history);
    let screen = Screen::take().map_err(ChatError::Terminal)?;
    let (messages, inbox) = mpsc::channel(MAX_MESSAGES);
    let mut app = App {
        state: ChatState::new(history.read()),
        view: ConversationView::new(Theme::new(wanted.has_color)),
        keyboard: Keyboard::start(),
        requests: Requests::new(client, &wanted, messages),
        screen,
        history,
        inbox,
        stream: None,
        is_dirty: true,
        is_left: false,
    };
    app.state.tick(now());
    if let Some(remark) = &wanted.remark {
        app.state.show_remark(remark.clone());
    }
    let start = match wanted.start {
        ChatStart::Continue => {
            ChatStart::Session(last_session(&app.requests.client, &wanted.cwd).await?)
        }
        start => start,
    };
    let effects = app.state.begin(start);
    app.perform_effects(effects)?;
    app.run(stop).await?;
    let mut session = app.state.session.as_ref().map(|session| session.id.clone());
    if let Some(unused) = app.unused()
        && requests::delete_unused(&app.requests.client, &unused).await
    {
        session = None;
    }
    Ok(ChatOutcome {
        session,
        stop: app.state.conversation.last_stop.clone(),
        ..ChatOutcome::default()
    })
}

struct App {
    state: ChatState,
    view: ConversationView,
    // Ended before the screen is given back, so that nobody reads keys any more.
    keyboard: Keyboard,
    requests: Requests,
    screen: Screen,
    history: HistoryFile,
    inbox: mpsc::Receiver<ChatMessage>,
    stream: Option<JoinHandle<()>>,
    is_dirty: bool,
    is_left: bool,
}

impl Drop for App {
    fn drop(&mut self) {
        if let Some(stream) = self.stream.take() {
            stream.abort();
        }
    }
}

impl App {
    async fn run(&mut self, stop: impl Future<Output = ()>) -> Result<(), ChatError> {
        tokio::pin!(stop);
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        let mut drawn_at = tokio::time::Instant::now();
        self.draw()?;
        while !self.is_left {
            tokio::select! {
                biased;
                () = &mut stop => return Ok(()),
                typed = self.keyboard.next() => match typed {
                    Some(typed) => self.typed(typed)?,
                    // The terminal is gone.
                    None => return Ok(()),
                },
                Some(message) = self.inbox.recv() => self.handle_messages(message)?,
                _ = ticks.tick() => {
                    self.is_dirty |= self.state.tick(now());
                    let effects = self.state.send_due_answer();
                    self.is_dirty |= !effects.is_empty();
                    self.perform_effects(effects)?;
                }
            }
            if self.is_dirty && drawn_at.elapsed() >= FRAME {
                self.draw()?;
                drawn_at = tokio::time::Instant::now();
            }
        }
        Ok(())
    }

    fn draw(&mut self) -> Result<(), ChatError> {
        let Self { state, view, screen, .. } = self;
        let mut seen = None;
        let drawn = screen.draw(|frame| seen = render::draw(state, view, frame));
        drawn.map_err(ChatError::Terminal)?;
        state.note_visible_question(seen);
        self.is_dirty = false;
        Ok(())
    }

    fn typed(&mut self, typed: TerminalInput) -> Result<(), ChatError> {
        self.state.tick(now());
        let effects = match typed {
            TerminalInput::Keys(keys) => self.state.press_all(&keys),
            TerminalInput::Paste(text) => self.state.paste(&text),
            TerminalInput::Resize => {
                // A question that was drawn for another size may be cut off now.
                self.state.note_visible_question(None);
                Vec::new()
            }
        };
        self.is_dirty = true;
        self.perform_effects(effects)
    }

    /// Handles the messages behind this one, too: a long session comes as many events.
    fn handle_messages(&mut self, first: ChatMessage) -> Result<(), ChatError> {
        let mut next = Some(first);
        for _ in 0..MESSAGES_AT_ONCE {
            let Some(message) = next.take() else { break };
            if let ChatMessage::Opened(session) = &message {
                if let Some(unused) = self.unused() {
                    let client = self.requests.client.clone();
                    task::spawn(async move { requests::delete_unused(&client, &unused).await });
                }
                self.view.reset();
                // Messages that are left of the stream before are of no use.
                let (messages, inbox) = mpsc::channel(MAX_MESSAGES);
                self.inbox = inbox;
                self.requests.messages = messages;
                self.follow(&session.id, Seq(0));
                self.requests.opened(session);
            }
            if matches!(message, ChatMessage::Stream(FollowerMessage::Restarted)) {
                self.view.reset();
            }
            let effects = self.state.handle_message(message);
            self.perform_effects(effects)?;
            next = self.inbox.try_recv().ok();
        }
        if let Some(message) = next {
            let effects = self.state.handle_message(message);
            self.perform_effects(effects)?;
        }
        self.is_dirty = true;
        Ok(())
    }

    /// The open session, if it was made here and nothing was sent in it: leaving deletes it, since
    /// nobody would come back to it.
    fn unused(&self) -> Option<String> {
        let has_begun = self.state.n_sending > 0 || self.state.conversation.has_prompts();
        let session = self.state.session.as_ref().filter(|session| session.is_new && !has_begun);
        session.map(|session| session.id.clone())
    }

    /// Follows the events of a session after `after`.
    fn follow(&mut self, session: &str, after: Seq) {
        if let Some(stream) = self.stream.take() {
            stream.abort();
        }
        let events = self.requests.client.follow(session, after);
        self.stream = Some(task::spawn(pass_on(events, self.requests.messages.clone())));
    }

    fn perform_effects(&mut self, effects: Vec<Effect>) -> Result<(), ChatError> {
        for effect in effects {
            match effect {
                Effect::Leave => self.is_left = true,
                Effect::LeaveWithError(why) => return Err(ChatError::CannotOpen(why)),
                Effect::Redraw => self.screen.clear().map_err(ChatError::Terminal)?,
                Effect::Scroll(by) => self.view.scroll(&self.state, by),
                Effect::Suspend => {
                    let suspended = self.screen.suspend();
                    // A stopped process stops its threads, so nothing else has been read since.
                    self.keyboard.discard();
                    suspended.map_err(ChatError::Terminal)?;
                }
                Effect::SaveToHistory(text) => {
                    // A history that cannot be written need not disturb the user.
                    if let Err(error) = self.history.append(&text) {
                        tracing::warn!(%error, "cannot remember what was typed");
                    }
                }
                Effect::Reopen => {
                    if let Some(session) = &self.state.session {
                        let id = session.id.clone();
                        self.state.link = ConnectionState::Opening;
                        self.follow(&id, self.state.conversation.cursor);
                    }
                }
                other => self.requests.run(other),
            }
        }
        Ok(())
    }
}

/// Passes on what a stream says, until the receiver is gone or the stream is over.
async fn pass_on(mut events: Follower, messages: mpsc::Sender<ChatMessage>) {
    loop {
        let message = events.next().await;
        let is_over = matches!(message, FollowerMessage::Over(_));
        if messages.send(ChatMessage::Stream(message)).await.is_err() || is_over {
            return;
        }
    }
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
