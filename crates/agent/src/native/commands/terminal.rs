//! A command in a terminal of the client.
//!
//! Always true: a terminal that was made is released, also when its command is given up while
//! the client still makes it; a command that was given up or took too long is killed first.
//! For that the terminal belongs to a task of its own, which outlives whoever waits.

use bus::connection::CallError;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::environment::{CommandVariables, variables};
use super::output_buffer::OutputBuffer;
use super::{CommandEnd, CommandRequest, FinishedCommand, denied, terminal_failed};
use crate::native::client::AcpClient;
use crate::native::settings::CommandSettings;
use crate::native::tool::{CallContent, ToolContext, ToolError};

pub(super) async fn run(
    context: &ToolContext,
    order: CommandRequest,
) -> Result<FinishedCommand, ToolError> {
    let (done, on_done) = oneshot::channel();
    let given_up = CancellationToken::new();
    let _gives_up_when_dropped = given_up.clone().drop_guard();
    let context = context.clone();
    task::spawn(async move {
        let finished = run_in_terminal(&context, order, &given_up).await;
        let _nobody_waits = done.send(finished);
    });
    // The task ends without an answer only with its runtime.
    on_done.await.unwrap_or_else(|_| Err(no_terminal()))
}

/// Makes a terminal, waits for the command in it, reads the output and releases the terminal.
async fn run_in_terminal(
    context: &ToolContext,
    order: CommandRequest,
    given_up: &CancellationToken,
) -> Result<FinishedCommand, ToolError> {
    let client = &context.workspace.client;
    let settings = &context.workspace.settings.commands;
    let began = Instant::now();
    let env = environment(settings);
    let create = json!({
        "command": settings.shell, "args": ["-c", order.line], "cwd": order.cwd, "env": env,
        "outputByteLimit": settings.max_output_bytes,
    });
    let created = match client.terminal("create", create).await {
        Err(CallError::Refused(error)) if error.is_denied() => {
            return Err(denied(&error.message));
        }
        created => created.map_err(terminal_failed)?,
    };
    let id = created["terminalId"].as_str().ok_or_else(no_terminal)?;
    let named = || json!({ "terminalId": id });
    // The turn may be over by now, and nothing is shown after its end.
    if !given_up.is_cancelled() {
        context.show(&[CallContent::Terminal(id.to_owned())], &[]);
    }

    let waiting = async {
        let exited = timeout(order.timeout, client.terminal("wait_for_exit", named())).await;
        match exited {
            Ok(exited) => exited.map(|status| end_of(&status)),
            Err(_over) => Ok(CommandEnd::TimedOut),
        }
    };
    let end = tokio::select! {
        end = waiting => end,
        () = given_up.cancelled() => Ok(CommandEnd::TimedOut),
    };
    if !matches!(end, Ok(CommandEnd::Code(_) | CommandEnd::Signal(_) | CommandEnd::Unknown)) {
        let _already_over = client.terminal("kill", named()).await;
    }
    let output = read(client, id, settings.max_output_bytes).await;
    let _already_gone = client.terminal("release", named()).await;
    let (end, text) = (end.map_err(terminal_failed)?, output?);
    let took = began.elapsed();
    Ok(FinishedCommand {
        text,
        end,
        took,
        terminal: Some(id.to_owned()),
        sandbox_restrictions: None,
    })
}

/// The variables for a terminal. It has the client's, and whoever started us has our keys among
/// them. They cannot be taken out from here, only emptied.
fn environment(settings: &CommandSettings) -> Value {
    let CommandVariables { strip, set } = variables(settings);
    let emptied = strip.iter().filter_map(|name| Some((name.to_str()?.to_owned(), String::new())));
    let all = set.into_iter().chain(emptied);
    all.map(|(name, value)| json!({ "name": name, "value": value })).collect()
}

async fn read(client: &AcpClient, id: &str, limit: usize) -> Result<String, ToolError> {
    let output = client.terminal("output", json!({ "terminalId": id })).await;
    let output = output.map_err(terminal_failed)?;
    let mut kept = OutputBuffer::new(limit);
    // The output limit is enforced here, whatever the client does with it; it cuts the beginning
    // off.
    let is_cut = output["truncated"].as_bool() == Some(true);
    kept.push(output["output"].as_str().unwrap_or_default().as_bytes());
    Ok(match is_cut {
        true => format!("[… the beginning was cut off by the client …]\n{}", kept.text()),
        false => kept.text(),
    })
}

fn no_terminal() -> ToolError {
    ToolError::new("the client made a terminal without an id")
}

fn end_of(status: &Value) -> CommandEnd {
    // Some clients put it one level down, as `terminal/output` does.
    let status = if status["exitStatus"].is_object() { &status["exitStatus"] } else { status };
    match (status["exitCode"].as_i64(), &status["signal"]) {
        (_, Value::String(signal)) => CommandEnd::Signal(signal.clone()),
        (Some(code), _) => CommandEnd::Code(i32::try_from(code).unwrap_or(-1)),
        (None, _) => CommandEnd::Unknown,
    }
}
