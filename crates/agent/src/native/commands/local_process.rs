//! A command that we run ourselves, below a keeper.
//!
//! stdout and stderr are one pipe, so that their order is kept. The call ends with the main
//! process: what it left in the background is ended by the keeper, which also ends the pipe.

use std::sync::Mutex;
use std::time::Duration;

use bus::{
    ExitReport, PacedOutput, READ_BYTES, StderrKind, StdinKind, StopLadder, WorkerHandle,
    WorkerStdout,
};
use tokio::time::{Instant, sleep_until, timeout};

use super::environment::{CommandVariables, variables};
use super::output_buffer::OutputBuffer;
use super::{CommandEnd, CommandRequest, FinishedCommand};
use crate::native::display_text;
use crate::native::lock;
use crate::native::sandbox::SandboxedCommand;
use crate::native::tool::{CallContent, ToolContext, ToolError};

/// How a command is stopped: it may tidy up, but nobody waits long for it.
const STOP_LADDER: StopLadder =
    StopLadder { after_eof: Duration::ZERO, after_term: Duration::from_millis(500) };
/// How long is waited for descendants: the keeper gives what is left behind half a second; what is
/// still there then is another user's or stuck in the kernel.
const DESCENDANTS_WITHIN: Duration = Duration::from_secs(3);
/// Pause between progress updates: people read slower, and each replaces the one before.
const SHOW_EVERY: Duration = Duration::from_millis(100);
const SHOWN_BYTES: usize = 8 << 10;

pub(super) async fn run(
    context: &ToolContext,
    order: CommandRequest,
) -> Result<FinishedCommand, ToolError> {
    let settings = &context.workspace.settings;
    let began = Instant::now();
    let argv = vec![settings.commands.shell.clone().into(), "-c".into(), order.line.into()];
    let roots = &context.workspace.roots;
    let held = settings.sandbox.wrap(argv, &order.cwd, roots, &settings.keeper.exe);
    let held = held.map_err(ToolError::new)?;
    let mut argv = held.argv.iter().cloned();
    let mut launch = settings.keeper.launch(argv.next().unwrap_or_default(), order.cwd);
    launch.args = argv.collect();
    launch.stdin = StdinKind::Null;
    launch.stderr = StderrKind::MergedIntoStdout;
    let CommandVariables { strip, set } = variables(&settings.commands);
    launch.env.strip = strip;
    launch.env.set = set.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
    launch.env.set.extend(held.variables.iter().cloned());
    let sandbox_restrictions = held.restrictions.clone();

    let worker = launch.spawn().await;
    let worker = worker.map_err(|why| ToolError(format!("the command did not start: {why}")))?;
    let handle = worker.handle.clone();
    let mut running = RunningCommand { handle: worker.handle, held: Some(held) };
    let kept = Mutex::new(OutputBuffer::new(settings.commands.max_output_bytes));
    let end = follow(&handle, worker.stdout, &kept, context, order.timeout).await;
    let is_gone = timeout(DESCENDANTS_WITHIN, handle.ended()).await.is_ok();
    if is_gone {
        running.held = None;
    }
    let text = lock(&kept).text();
    Ok(FinishedCommand { text, end, took: began.elapsed(), terminal: None, sandbox_restrictions })
}

/// Reads to the end of the command, or of its time.
async fn follow(
    handle: &WorkerHandle,
    stdout: WorkerStdout,
    kept: &Mutex<OutputBuffer>,
    context: &ToolContext,
    limit: Duration,
) -> CommandEnd {
    let reading = read(handle.paced(stdout), kept, context);
    tokio::pin!(reading);
    let ending = async {
        match timeout(limit, handle.exited()).await {
            Ok(report) => end_of(report),
            Err(_over) => {
                handle.stop(&STOP_LADDER).await;
                CommandEnd::TimedOut
            }
        }
    };
    tokio::pin!(ending);
    let mut is_open = true;
    let end = loop {
        tokio::select! {
            end = &mut ending => break end,
            () = &mut reading, if is_open => is_open = false,
        }
    };
    if is_open {
        let _given_up = timeout(DESCENDANTS_WITHIN, reading).await;
    }
    end
}

/// Reads until the last process that could write is gone; shows the output as it comes.
async fn read(
    mut stdout: PacedOutput<WorkerStdout>,
    kept: &Mutex<OutputBuffer>,
    context: &ToolContext,
) {
    let mut chunk = vec![0; READ_BYTES];
    let mut show_at = Instant::now();
    let mut is_fresh = false;
    loop {
        tokio::select! {
            // A command that never pauses is shown all the same.
            biased;
            () = sleep_until(show_at), if is_fresh => {
                is_fresh = false;
                show_at = Instant::now() + SHOW_EVERY;
                let recent = lock(kept).recent(SHOWN_BYTES);
                context.show(&[CallContent::Text(display_text::fenced("", &recent))], &[]);
            }
            read = stdout.read(&mut chunk) => match read {
                Ok(n @ 1..) => {
                    lock(kept).push(chunk.get(..n).unwrap_or_default());
                    is_fresh = true;
                }
                Ok(_) | Err(_) => return,
            },
        }
    }
}

/// A running command. Dropped early, it is ended, and its sandbox stays until it is.
struct RunningCommand {
    handle: WorkerHandle,
    held: Option<SandboxedCommand>,
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        let (Some(held), Ok(runtime)) = (self.held.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let handle = self.handle.clone();
        runtime.spawn(async move {
            handle.stop(&STOP_LADDER).await;
            drop(held);
        });
    }
}

fn end_of(report: ExitReport) -> CommandEnd {
    match (report.code, report.signal) {
        (Some(code), _) => CommandEnd::Code(code),
        // `killed by SIGKILL (9)` without the verb.
        (None, Some(_)) => CommandEnd::Signal(report.to_string().replace("killed by ", "")),
        (None, None) => CommandEnd::Unknown,
    }
}
