//! The properties of the terminal, and messages on stderr.

pub(crate) mod confirm;
pub(crate) mod format;
pub(crate) mod log_view;
pub(crate) mod output;
pub(crate) mod paint;
pub(crate) mod prompt;
pub(crate) mod questions;
pub(crate) mod size;
pub(crate) mod spinner;

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};

static N_STDERR_WRITES: AtomicU64 = AtomicU64::new(0);

/// Prints a message on stderr. A closed stderr is no error.
pub(crate) fn say(text: &str) {
    count_stderr_write();
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Counts a write to stderr, which may be the same terminal as stdout.
pub(crate) fn count_stderr_write() {
    N_STDERR_WRITES.fetch_add(1, Ordering::Relaxed);
}

/// How often stderr was written to.
pub(crate) fn n_stderr_writes() -> u64 {
    N_STDERR_WRITES.load(Ordering::Relaxed)
}

/// Whether stdout is a terminal that wants colour.
pub(crate) fn color_on_stdout() -> bool {
    std::io::stdout().is_terminal() && wants_color()
}

pub(crate) fn color_on_stderr() -> bool {
    std::io::stderr().is_terminal() && wants_color()
}

fn wants_color() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && !is_dumb()
}

/// Whether the terminal can do no more than print.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Waits until the reader of our stdout has closed it, as `| head` does when it has seen enough.
pub(crate) async fn reader_gone() {
    use rustix::event::{PollFd, PollFlags, poll};
    let (gone, noticed) = tokio::sync::oneshot::channel();
    // A thread, because nothing else can wait for an error on a pipe we only write to.
    let watch = move || {
        let stdout = std::io::stdout();
        let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
        while let Ok(_) | Err(rustix::io::Errno::INTR) = poll(&mut fds, None) {
            let seen = fds[0].revents();
            if seen.intersects(PollFlags::ERR | PollFlags::HUP) {
                let _ = gone.send(());
                return;
            }
            if !seen.is_empty() {
                return;
            }
        }
    };
    // If the thread cannot be started the channel is closed at once.
    let _watching = std::thread::Builder::new().spawn(watch);
    if noticed.await.is_err() {
        // A reader that cannot be watched is taken to stay.
        std::future::pending::<()>().await;
    }
}

/// Whether what is printed goes to somebody, a terminal or whoever started us, and not into a
/// file or the journal, where others may find it later.
pub(crate) fn somebody_reads_stdout() -> bool {
    use rustix::fs::FileType;
    let kind =
        rustix::fs::fstat(std::io::stdout()).map(|found| FileType::from_raw_mode(found.st_mode));
    matches!(kind, Ok(FileType::CharacterDevice | FileType::Fifo))
}

/// Whether there is a person at the terminal who can be asked.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Columns of stdout; 0 when it is no terminal.
pub(crate) fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stdout()).map_or(0, |size| usize::from(size.ws_col))
}
