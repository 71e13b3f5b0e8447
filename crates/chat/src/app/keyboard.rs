//! The keyboard, read on a thread of its own.

mod missed_keys;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::mpsc;

/// Input that waits; more than a person types while a frame is drawn, and a paste is one.
const MAX_TYPED: usize = 1024;
/// Keys that are read at once; a paste that is longer comes in several parts.
const MAX_KEYS_AT_ONCE: usize = 4096;
/// How long the thread waits before it looks whether it is still wanted, and for a new size.
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Polls in a row that found input but no key, after which stdin is read directly.
const MISSED_POLLS: u32 = 3;
/// How long the end of the thread is waited for; a longer one ends with the process.
const JOIN_TIMEOUT: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum TerminalInput {
    /// Keys that came together, at least one.
    Keys(Vec<KeyEvent>),
    Paste(String),
    Resize,
}

#[derive(Debug)]
pub(super) struct Keyboard {
    typed: mpsc::Receiver<TerminalInput>,
    is_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keyboard {
    pub(super) fn start() -> Self {
        let (sender, typed) = mpsc::channel(MAX_TYPED);
        let is_wanted = Arc::new(AtomicBool::new(true));
        let wanted = is_wanted.clone();
        let thread = std::thread::spawn(move || {
            let mut n_overlooked = 0;
            while wanted.load(Ordering::SeqCst) {
                let Some(has_input) = wait_for_terminal() else { return };
                let Ok(mut all) = read_all() else { return };
                n_overlooked = if has_input && all.is_empty() { n_overlooked + 1 } else { 0 };
                if n_overlooked >= MISSED_POLLS {
                    all.extend(missed_keys::read());
                }
                for typed in all {
                    if sender.blocking_send(typed).is_err() {
                        return;
                    }
                }
            }
        });
        Self { typed, is_wanted, thread: Some(thread) }
    }

    /// The next input; `None` when the terminal is gone.
    pub(super) async fn next(&mut self) -> Option<TerminalInput> {
        self.typed.recv().await
    }

    /// Drops what was typed before.
    pub(super) fn discard(&mut self) {
        while self.typed.try_recv().is_ok() {}
    }
}

/// Reads everything that has come. Keys that came together stay together: a terminal that cannot
/// tell a paste from typing sends it so.
fn read_all() -> io::Result<Vec<TerminalInput>> {
    let mut all = Vec::new();
    for _ in 0..MAX_KEYS_AT_ONCE {
        if !event::poll(Duration::ZERO)? {
            break;
        }
        match event::read()? {
            Event::Key(key) if key.kind != KeyEventKind::Release => match all.last_mut() {
                Some(TerminalInput::Keys(keys)) => keys.push(key),
                _ => all.push(TerminalInput::Keys(vec![key])),
            },
            Event::Paste(text) => all.push(TerminalInput::Paste(text)),
            Event::Resize(..) => all.push(TerminalInput::Resize),
            _ => {}
        }
    }
    Ok(all)
}

/// Waits for input, or for a while; true if there is some. `None` when the terminal is gone:
/// reading from it would then return nothing at once, again and again.
fn wait_for_terminal() -> Option<bool> {
    let stdin = io::stdin();
    let mut looked = [PollFd::new(&stdin, PollFlags::IN)];
    let within = Timespec::try_from(POLL_INTERVAL).ok();
    match poll(&mut looked, within.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {
            let has = |flags| looked.iter().any(|fd| fd.revents().intersects(flags));
            let is_gone = has(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL);
            (!is_gone).then(|| has(PollFlags::IN))
        }
        Err(_) => None,
    }
}

impl Drop for Keyboard {
    /// Stops the thread: input from here on is for whoever has the terminal next.
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::SeqCst);
        self.typed.close();
        let Some(thread) = self.thread.take() else { return };
        let give_up_at = Instant::now() + JOIN_TIMEOUT;
        while !thread.is_finished() && Instant::now() < give_up_at {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
