//! Commands that use what the client offers: its files, its terminals, or any method of it.
//!
//! In: arguments. Out: requests to the client, and a report of what came back.
//! Files and terminals are only used if the client offers them; `call` sends whatever it is given.

use super::tools::PretendedCall;
use super::{ScriptArguments, UsageError};
use crate::demo::connection::ClientAnswer;
use crate::demo::turn::DemoTurn;
use serde_json::{Value, json};
use std::path::Path;

// Enough to show that the client honours the limit, little enough to reach it in a test.
const OUTPUT_LIMIT_BYTES: u64 = 64 * 1024;

/// An answer in words, with its JSON as it came.
pub(super) fn report(answer: &ClientAnswer) -> String {
    match answer {
        Ok(raw) => format!("result {}\n", raw.as_str()),
        Err(raw) => format!("error {}\n", raw.as_str()),
    }
}

pub(super) fn absolute(turn: &DemoTurn, path: &str) -> String {
    Path::new(&turn.cwd()).join(path).to_string_lossy().into_owned()
}

pub(super) async fn read(
    turn: &DemoTurn,
    mut arguments: ScriptArguments<'_>,
) -> Result<(), UsageError> {
    let mut params = json!({
        "sessionId": turn.session,
        "path": absolute(turn, arguments.need_word()?),
    });
    if let Some(line) = arguments.word() {
        params["line"] = line.parse::<u32>().map_err(|_| UsageError)?.into();
        params["limit"] = arguments.number::<u32>()?.into();
    }
    if !turn.connection.client_offers("/fs/readTextFile") {
        turn.say("The client does not read files (fs.readTextFile).\n").await;
        return Ok(());
    }
    let answer = turn.call("fs/read_text_file", &params).await;
    match field(&answer, "content") {
        Some(content) => turn.say(content).await,
        None => turn.say(report(&answer)).await,
    }
    Ok(())
}

pub(super) async fn write(turn: &DemoTurn, path: &str, content: &str) {
    if !turn.connection.client_offers("/fs/writeTextFile") {
        return turn.say("The client does not write files (fs.writeTextFile).\n").await;
    }
    let params = json!({ "sessionId": turn.session, "path": path, "content": content });
    match turn.call("fs/write_text_file", &params).await {
        Ok(_) => turn.say(format!("Wrote {} bytes to {path}.\n", content.len())).await,
        error @ Err(_) => turn.say(report(&error)).await,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalEnd {
    Wait,
    Kill,
    /// Leave the command running when the turn is over.
    Leave,
}

pub(super) async fn terminal(turn: &DemoTurn, argv: &[String], end: TerminalEnd) {
    if !turn.connection.client_offers("/terminal") {
        return turn.say("The client has no terminals (terminal).\n").await;
    }
    let Some((command, arguments)) = argv.split_first() else { return };
    let created = turn
        .call(
            "terminal/create",
            &json!({
                "sessionId": turn.session,
                "command": command,
                "args": arguments,
                "cwd": turn.cwd(),
                "outputByteLimit": OUTPUT_LIMIT_BYTES,
            }),
        )
        .await;
    let Some(terminal) = field(&created, "terminalId") else {
        return turn.say(report(&created)).await;
    };
    let call = PretendedCall::new(turn, "execute", Some(&argv.join(" ")));
    call.announce(turn).await;
    let embedded = json!([{ "type": "terminal", "terminalId": terminal }]);
    call.update(turn, json!({ "status": "in_progress", "content": embedded })).await;

    if end == TerminalEnd::Leave {
        return call.update(turn, json!({ "status": "completed" })).await;
    }
    let params = json!({ "sessionId": turn.session, "terminalId": terminal });
    let method = if end == TerminalEnd::Wait { "terminal/wait_for_exit" } else { "terminal/kill" };
    let ended = turn.call(method, &params).await;
    let output = turn.call("terminal/output", &params).await;
    let released = turn.call("terminal/release", &params).await;

    let is_good = ended.is_ok() && released.is_ok();
    let status = if is_good { "completed" } else { "failed" };
    call.update(turn, json!({ "status": status, "rawOutput": value(&output) })).await;
    let method = method.trim_start_matches("terminal/");
    turn.say(format!("{method}: {}output: {}", report(&ended), report(&output))).await;
}

fn field(answer: &ClientAnswer, name: &str) -> Option<String> {
    let Ok(_) = answer else { return None };
    value(answer).get(name)?.as_str().map(str::to_owned)
}

fn value(answer: &ClientAnswer) -> Value {
    let (Ok(raw) | Err(raw)) = answer;
    serde_json::from_str(raw.as_str()).unwrap_or_default()
}
