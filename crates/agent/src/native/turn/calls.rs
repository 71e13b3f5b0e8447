//! Runs the calls of one answer.
//!
//! Calls that only look run side by side; before one that changes something, all earlier ones
//! are over. So each sees what those before it did.

use std::collections::HashMap;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use serde_json::{Value, json};
use wire::event::StopReason;

use super::{ModelTurn, TurnConversation};
use crate::native::call_arguments;
use crate::native::chat::{MessagePart, ModelToolCall};
use crate::native::display_text;
use crate::native::lock;
use crate::native::permission_gate::GateVerdict;
use crate::native::session::TurnError;
use crate::native::tool::{
    CallContent, CallNeed, CallProgress, PreparedCall, ToolContext, ToolError, ToolKind, ToolOutput,
};
use crate::native::tool_call::set_shown;

/// Failures of the same call after which it is not run again.
const MAX_SAME_FAILURES: u32 = 3;
/// Repetitions of such calls after which the turn ends: the model is not going to stop by itself.
const MAX_REPEATS: u32 = 3;
/// Different calls that failed in one turn and are remembered.
const MAX_REMEMBERED: usize = 1000;

/// The result of a call that was cancelled, by the user or because the client went away.
const CANCELLED: &str =
    "[The turn was cancelled and this call interrupted. It is not known how far it went.]";

/// Calls that failed in this turn.
#[derive(Debug, Default)]
pub(super) struct FailedCalls {
    counts: HashMap<(String, String), u32>,
    n_repeats: u32,
}

impl FailedCalls {
    fn note(&mut self, call: &ModelToolCall, has_failed: bool) {
        if !has_failed {
            self.counts.remove(&key(call));
        } else if self.counts.len() < MAX_REMEMBERED {
            *self.counts.entry(key(call)).or_default() += 1;
        }
    }
}

fn key(call: &ModelToolCall) -> (String, String) {
    (call.name.clone(), call.arguments.clone())
}

type EndedCall = (usize, Result<ToolOutput, ToolError>);

/// The calls of one answer that are being run. An index is always a call's.
struct CallBatch<'a, T> {
    turn: &'a ModelTurn<'a>,
    talk: &'a mut T,
    failing: &'a mut FailedCalls,
    answer: u64,
    calls: Vec<TurnCall<'a>>,
    running: FuturesUnordered<BoxFuture<'static, EndedCall>>,
}

struct TurnCall<'a> {
    asked: &'a ModelToolCall,
    /// The call as clients know it, but for what a call that runs shows of its progress.
    shown: Value,
    progress: CallProgress,
    is_over: bool,
}

impl ModelTurn<'_> {
    /// Runs the calls of an answer. Nothing, if the turn goes on after them.
    pub(super) async fn run_calls(
        &self,
        talk: &mut impl TurnConversation,
        answer: u64,
        calls: &[ModelToolCall],
        failing: &mut FailedCalls,
    ) -> Result<Option<StopReason>, TurnError> {
        let calls = calls.iter().enumerate().map(|(index, asked)| TurnCall {
            asked,
            shown: json!({
                "toolCallId": talk.call_id(answer, index), "title": asked.name, "name": asked.name,
                "status": "pending",
            }),
            progress: CallProgress::default(),
            is_over: false,
        });
        let calls = calls.collect();
        let running = FuturesUnordered::new();
        let mut batch = CallBatch { turn: self, talk, failing, answer, calls, running };
        let stop = batch.run().await?;
        if stop == Some(StopReason::Cancelled) {
            // Running calls are dropped, which ends them.
            batch.running.clear();
            batch.close_all().await?;
        }
        Ok(stop)
    }
}

impl<T: TurnConversation> CallBatch<'_, T> {
    async fn run(&mut self) -> Result<Option<StopReason>, TurnError> {
        for index in 0..self.calls.len() {
            let call = self.calls[index].asked;
            if self.failing.counts.get(&key(call)).is_some_and(|n| *n >= MAX_SAME_FAILURES) {
                self.failing.n_repeats += 1;
                let error = ToolError(format!(
                    "This exact call has failed {MAX_SAME_FAILURES} times and was not run again. \
                     Do something else, or say what is in the way."
                ));
                self.begin(index, ToolKind::Other).await?;
                self.end(index, Err(error)).await?;
                if self.failing.n_repeats >= MAX_REPEATS {
                    // The model repeats itself.
                    return Ok(Some(StopReason::MaxTurnRequests));
                }
                continue;
            }
            let tool = self.turn.tools.get(&call.name);
            let kind = tool.as_ref().map_or(ToolKind::Other, |tool| tool.kind);
            self.begin(index, kind).await?;
            // What it would change is looked at when it is prepared: a file must have been read.
            let only_looks = matches!(kind, ToolKind::Read | ToolKind::Search | ToolKind::Think);
            if !only_looks && let Some(stop) = self.wait_for_all().await? {
                return Ok(Some(stop));
            }
            let context = ToolContext {
                workspace: self.turn.session.workspace.clone(),
                call: self.talk.call_id(self.answer, index),
                progress: self.calls[index].progress.clone(),
            };
            let prepared = match (tool, call_arguments::parse(&call.arguments)) {
                (None, _) => Err(self.unknown(&call.name)),
                (Some(_), Err(why)) => Err(ToolError(why)),
                (Some(tool), Ok(arguments)) => {
                    let arguments = Value::Object(arguments);
                    self.calls[index].shown["rawInput"] = arguments.clone();
                    tokio::select! {
                        biased;
                        () = self.turn.bounds.cancel.cancelled() => return Ok(Some(StopReason::Cancelled)),
                        prepared = tool.prepare(arguments, &context) => prepared,
                    }
                }
            };
            match prepared {
                Err(error) => self.end(index, Err(error)).await?,
                Ok(prepared) => {
                    if let Some(stop) = self.go(index, kind, prepared).await? {
                        return Ok(Some(stop));
                    }
                }
            }
        }
        self.wait_for_all().await
    }

    /// Starts a call, after it is allowed; waits for it if it may change something.
    async fn go(
        &mut self,
        index: usize,
        kind: ToolKind,
        prepared: PreparedCall,
    ) -> Result<Option<StopReason>, TurnError> {
        self.describe(index, &prepared);
        let PreparedCall { need, work, .. } = prepared;
        let is_asked = need != CallNeed::Nothing;
        if is_asked && let Some(stop) = self.wait_for_all().await? {
            return Ok(Some(stop));
        }
        let session = self.turn.session;
        let asked = self.calls[index].shown.clone();
        self.talk.show(changed(&asked)).await?;
        let passing = session.gate.pass(
            &need,
            kind,
            session.options().mode,
            &session.workspace.client,
            &asked,
        );
        let verdict = tokio::select! {
            biased;
            () = self.turn.bounds.cancel.cancelled() => return Ok(Some(StopReason::Cancelled)),
            verdict = passing => verdict,
        };
        match verdict {
            GateVerdict::Run => {}
            // A client answers so when it cancels the turn.
            GateVerdict::Cancelled => return Ok(Some(StopReason::Cancelled)),
            GateVerdict::Refused(why) => {
                self.end(index, Err(ToolError(why))).await?;
                return Ok(None);
            }
        }
        self.calls[index].shown["status"] = json!("in_progress");
        let update = json!({
            "sessionUpdate": "tool_call_update", "toolCallId": asked["toolCallId"],
            "status": "in_progress",
        });
        self.talk.show(update).await?;
        self.running.push(Box::pin(async move { (index, work.await) }));
        match is_asked {
            true => self.wait_for_all().await,
            false => Ok(None),
        }
    }

    async fn wait_for_all(&mut self) -> Result<Option<StopReason>, TurnError> {
        loop {
            let ended = tokio::select! {
                biased;
                () = self.turn.bounds.cancel.cancelled() => return Ok(Some(StopReason::Cancelled)),
                ended = self.running.next() => ended,
            };
            let Some((index, result)) = ended else { return Ok(None) };
            self.end(index, result).await?;
        }
    }

    /// Shows a call for the first time.
    async fn begin(&mut self, index: usize, kind: ToolKind) -> Result<(), TurnError> {
        let shown = &mut self.calls[index].shown;
        shown["kind"] = json!(kind);
        let mut update = shown.clone();
        update["sessionUpdate"] = json!("tool_call");
        self.talk.show(update).await
    }

    fn describe(&mut self, index: usize, prepared: &PreparedCall) {
        let shown = &mut self.calls[index].shown;
        shown["title"] = json!(display_text::one_line(&prepared.shown.title));
        if let Some(kind) = prepared.shown.kind {
            shown["kind"] = json!(kind);
        }
        set_shown(shown, &prepared.shown.content, &prepared.shown.locations);
    }

    async fn end(
        &mut self,
        index: usize,
        result: Result<ToolOutput, ToolError>,
    ) -> Result<(), TurnError> {
        let TurnCall { asked, shown, .. } = &mut self.calls[index];
        self.failing.note(asked, result.is_err());
        let parts = match result {
            Ok(output) => {
                shown["status"] = json!("completed");
                if let Some(title) = &output.title {
                    shown["title"] = json!(title);
                }
                set_shown(shown, &output.content, &output.locations);
                if let Some(raw) = output.raw {
                    shown["rawOutput"] = raw;
                }
                output.parts
            }
            Err(ToolError(why)) => {
                shown["status"] = json!("failed");
                set_shown(shown, &[CallContent::Text(why.clone())], &[]);
                vec![MessagePart::text(format!("Error: {why}"))]
            }
        };
        self.close(index, parts).await
    }

    async fn close(&mut self, index: usize, parts: Vec<MessagePart>) -> Result<(), TurnError> {
        self.calls[index].is_over = true;
        let shown = self.calls[index].shown.clone();
        // First the log: what clients have seen to end has ended.
        self.talk.keep_result(self.answer, index, shown.clone(), parts).await?;
        self.talk.show(changed(&shown)).await
    }

    /// Ends every call, also those that were not begun.
    async fn close_all(&mut self) -> Result<(), TurnError> {
        for index in 0..self.calls.len() {
            let TurnCall { shown, progress, is_over, .. } = &mut self.calls[index];
            if !*is_over {
                shown["status"] = json!("failed");
                // The output so far stays to be seen.
                set_shown(shown, &lock(progress), &[]);
                self.close(index, vec![MessagePart::text(CANCELLED)]).await?;
            }
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> ToolError {
        let names: Vec<&str> = self.turn.tools.keys().map(String::as_str).collect();
        let names = names.join(", ");
        ToolError(format!("There is no tool `{name}`. There are: {names}."))
    }
}

fn changed(shown: &Value) -> Value {
    let mut update = shown.clone();
    update["sessionUpdate"] = json!("tool_call_update");
    update
}
