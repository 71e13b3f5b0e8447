//! The demo agent: an ACP v1 agent that acts by script instead of by model.
//!
//! In: JSON-RPC lines from a client; the text of a prompt is a script of commands (`help` lists
//! them). Out: JSON-RPC lines, in the order in which they were made, through one bounded queue.
//! It is a newcomer's first agent and the tests' fault injector: it breaks the protocol only
//! where a script or an option asks for that.
//!
//! | file | owns |
//! |---|---|
//! | `options` | the command line |
//! | `connection`, `dispatch`, `methods` | one connection and what a client may call |
//! | `session`, `settings` | sessions and their memory |
//! | `turn`, `content`, `commands` | one prompt and what it may ask for |

mod commands;
mod connection;
mod content;
mod dispatch;
mod methods;
mod options;
mod session;
mod settings;
mod turn;

pub use options::{DemoOptions, IdStyle, USAGE};
pub use settings::choices;

use connection::{ConnectionOrder, DemoConnection, MAX_FRAMES};
use session::DemoSession;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

// A turn ends at once when it is cancelled; this bounds the ones whose script ignores that.
const TURNS_GRACE: Duration = Duration::from_millis(500);

// How long queued frames may take to be written at the end: a client that reads still gets them,
// and one that stopped reading does not keep us alive.
const FLUSH_GRACE: Duration = Duration::from_secs(1);

// Orders end the connection or its reading, so there are never many.
const MAX_ORDERS: usize = 8;

/// Why a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// The client closed our input.
    Eof,
    /// The client closed our output.
    OutputClosed,
    /// A script wants the process to exit with this code.
    Exit(i32),
    /// A script wants the process to die by a signal.
    Abort,
}

/// Serves one client on stdin and stdout. Does not return where the script is to kill the process.
pub async fn serve(options: DemoOptions) -> ExitCode {
    #[cfg(unix)]
    if options.ignores_term {
        // Registering replaces the default action for the rest of the process's life.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    }
    match run(options, tokio::io::stdin(), tokio::io::stdout()).await {
        ConnectionEnd::Eof => ExitCode::SUCCESS,
        // Returning would wait for the thread that still blocks in a read of stdin.
        ConnectionEnd::OutputClosed => std::process::exit(1),
        ConnectionEnd::Exit(code) => std::process::exit(code),
        ConnectionEnd::Abort => std::process::abort(),
    }
}

/// Serves one client on any pair of streams and says how it ended. Everything that was sent
/// before the end is written before this returns, unless the client does not read it.
pub async fn run<R, W>(options: DemoOptions, input: R, output: W) -> ConnectionEnd
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin + Send + 'static,
{
    commands::flood_stderr(options.stderr_flood_bytes).await;
    tokio::time::sleep(options.slow_start).await;

    let (frame_sender, frames) = mpsc::channel(MAX_FRAMES);
    let mut writer = task::spawn(connection::write_frames(frames, output));
    let (order_sender, mut orders) = mpsc::channel(MAX_ORDERS);
    let ignores_eof = options.ignores_eof;
    let connection = Arc::new(DemoConnection::new(options, frame_sender, order_sender));
    let mut turns = JoinSet::new();

    let ending = {
        let mut reading = std::pin::pin!(dispatch::read_all(&connection, input, &mut turns));
        let mut is_reading = true;
        loop {
            tokio::select! {
                order = orders.recv() => match order {
                    Some(ConnectionOrder::StopReading(done)) => {
                        is_reading = false;
                        // A turn that was cancelled in between does not wait for it any more.
                        let _ = done.send(());
                    }
                    Some(ConnectionOrder::End(end)) => break end,
                    None => break ConnectionEnd::Eof,
                },
                () = &mut reading, if is_reading => {
                    if !ignores_eof {
                        break ConnectionEnd::Eof;
                    }
                    is_reading = false;
                }
                _ = &mut writer => break ConnectionEnd::OutputClosed,
            }
        }
    };

    if ending == ConnectionEnd::Eof {
        connection.state().sessions.values().for_each(DemoSession::cancel);
        let all_done = async { while turns.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(TURNS_GRACE, all_done).await;
    }
    turns.shutdown().await;
    // The writer ends after everything that was sent before, when nobody is left who could send.
    drop(connection);
    if ending != ConnectionEnd::OutputClosed
        && tokio::time::timeout(FLUSH_GRACE, &mut writer).await.is_err()
    {
        writer.abort();
    }
    ending
}
