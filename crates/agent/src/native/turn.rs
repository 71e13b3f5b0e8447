//! One turn: the model is asked, its tools are run, until it has nothing more to do.
//!
//! In: a conversation that ends with somebody's words. Out: everything that the model said and
//! did, shown as it happens, and the reason why it stopped.
//!
//! Always true: every call of a whole answer has a result before the model is asked again. A
//! cancelled turn ends with `cancelled`, whatever was going on; what ran is ended.

mod calls;

use futures_util::StreamExt as _;
use serde_json::Value;
use wire::event::StopReason;

use super::assemble::{AssembledAnswer, Assembly};
use super::chat::{ChatMessage, ChatRequest, Delta, FinishReason, MessagePart, TokenUsage};
use super::models::ChosenModel;
use super::session::{NativeSession, TurnError};
use super::tool::Toolbox;
use super::turn_bounds::TurnBounds;

/// The kind of a model's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextKind {
    Message,
    Thought,
}

/// The result of an operation on the conversation of a turn.
pub(super) type ConversationResult<T = ()> = Result<T, TurnError>;

/// The conversation of a turn: its messages so far, and where new ones are shown and kept.
pub(super) trait TurnConversation: Send {
    fn messages(&self) -> Vec<ChatMessage>;

    /// Passes on a piece of the model's text, right now.
    fn say(
        &mut self,
        voice: TextKind,
        text: &str,
    ) -> impl Future<Output = ConversationResult> + Send;

    /// Shows a remark that is not the model's: it waits, it tries again.
    fn remark(&mut self, text: &str) -> impl Future<Output = ConversationResult> + Send;

    /// Keeps an answer; returns its number. One without a reason to stop was cut off.
    fn keep_answer(
        &mut self,
        said: AssembledAnswer,
    ) -> impl Future<Output = ConversationResult<u64>> + Send;

    /// Shows a change of a tool call.
    fn show(&mut self, update: Value) -> impl Future<Output = ConversationResult> + Send;

    /// Keeps the result of a call.
    fn keep_result(
        &mut self,
        answer: u64,
        index: usize,
        shown: Value,
        parts: Vec<MessagePart>,
    ) -> impl Future<Output = ConversationResult> + Send;

    /// The id by which clients know the call.
    fn call_id(&self, answer: u64, index: usize) -> String {
        call_id(answer, index)
    }

    /// Makes room before the next request, if the window is nearly full. `used` is what the
    /// endpoint counted last.
    fn make_room(&mut self, used: u64) -> impl Future<Output = ConversationResult> + Send;

    /// Shortens the conversation, which the endpoint says is too long; says whether it is shorter
    /// now.
    fn shrink(&mut self) -> impl Future<Output = ConversationResult<bool>> + Send;
}

/// The id of a call: unique in a session, and the same in a replay.
pub(super) fn call_id(answer: u64, index: usize) -> String {
    format!("call-{answer}-{index}")
}

pub(super) struct ModelTurn<'a> {
    pub session: &'a NativeSession,
    pub tools: &'a Toolbox,
    pub bounds: &'a TurnBounds,
}

impl ModelTurn<'_> {
    pub(super) async fn run(
        &self,
        talk: &mut impl TurnConversation,
    ) -> Result<StopReason, TurnError> {
        let mut failing = calls::FailedCalls::default();
        let mut used = 0;
        let mut has_made_room = false;
        while self.bounds.take_request() {
            tokio::select! {
                biased;
                () = self.bounds.cancel.cancelled() => return Ok(StopReason::Cancelled),
                made = talk.make_room(used) => made?,
            }
            let said = match self.ask(talk).await {
                Ok(Some(said)) => said,
                Ok(None) => return Ok(StopReason::Cancelled),
                Err(TurnError::Model(failure)) if failure.is_too_long() && !has_made_room => {
                    has_made_room = true;
                    let is_less = tokio::select! {
                        biased;
                        () = self.bounds.cancel.cancelled() => return Ok(StopReason::Cancelled),
                        is_less = talk.shrink() => is_less?,
                    };
                    match is_less {
                        true => continue,
                        false => return Err(failure.into()),
                    }
                }
                Err(error) => return Err(error),
            };
            has_made_room = false;
            used = said.usage.map_or(0, TokenUsage::total);
            if said.text.is_empty() && said.thought.is_empty() && said.calls.is_empty() {
                talk.remark("The model answered nothing.").await?;
            }
            let (calls, finish) = (said.calls.clone(), said.finish);
            let answer = talk.keep_answer(said).await?;
            if calls.is_empty() {
                return Ok(match finish {
                    Some(FinishReason::Length) => StopReason::MaxTokens,
                    Some(FinishReason::Filtered) => StopReason::Refusal,
                    Some(FinishReason::Stop | FinishReason::Calls) | None => StopReason::EndTurn,
                });
            }
            if let Some(stop) = self.run_calls(talk, answer, &calls, &mut failing).await? {
                return Ok(stop);
            }
        }
        Ok(StopReason::MaxTurnRequests)
    }

    /// Asks the model and passes on what it says while it says it. Nothing, if the turn is
    /// cancelled.
    async fn ask(
        &self,
        talk: &mut impl TurnConversation,
    ) -> Result<Option<AssembledAnswer>, TurnError> {
        let chosen = self.session.chosen().await?;
        self.tell_of_tools(None).await;
        let has_tools = self.session.has_tools();
        let mut answer = chosen.provider.chat(self.request(talk, &chosen, has_tools));
        let mut assembly = Assembly::default();
        loop {
            let next = tokio::select! {
                biased;
                () = self.bounds.cancel.cancelled() => {
                    talk.keep_answer(cut_off(assembly)).await?;
                    return Ok(None);
                }
                next = answer.next() => next,
            };
            let delta = match next {
                None => break,
                Some(Ok(delta)) => delta,
                Some(Err(failure)) => {
                    let said = cut_off(assembly);
                    if said != AssembledAnswer::default() {
                        talk.keep_answer(said).await?;
                    }
                    return Err(failure.into());
                }
            };
            match &delta {
                Delta::Text(text) => talk.say(TextKind::Message, text).await?,
                Delta::Thought(text) => talk.say(TextKind::Thought, text).await?,
                Delta::Retrying { attempt, wait, why } => {
                    let wait = wait.as_secs_f64();
                    let why = why.trim_end_matches('.');
                    // A wait of less than half a second is not noticed by anybody.
                    let when = match wait < 0.5 {
                        true => "now".to_owned(),
                        false => format!("in {wait:.0} s"),
                    };
                    let text = format!("{why}. Trying again {when} (attempt {attempt}).");
                    talk.remark(&text).await?;
                }
                Delta::ToolsRefused { why } => {
                    // The same once more: from now on it is known that there are none.
                    self.tell_of_tools(Some(why)).await;
                    let chosen = self.session.chosen().await?;
                    answer = chosen.provider.chat(self.request(talk, &chosen, false));
                }
                Delta::Call { .. } | Delta::Usage(_) | Delta::Finish(_) => {}
            }
            assembly.push(&delta);
        }
        let mut said = assembly.end();
        // The last of them may lack its end, and the others were meant to go with it; or no tools
        // were offered.
        if said.finish == Some(FinishReason::Length) || !self.session.has_tools() {
            said.calls.clear();
        }
        // Not every endpoint says why it stops.
        said.finish.get_or_insert(FinishReason::Stop);
        Ok(Some(said))
    }

    /// Warns once in a session that a model gets none of the tools that it was meant to have.
    async fn tell_of_tools(&self, why: Option<&str>) {
        let Some(model) = self.session.first_without_tools() else { return };
        let said = why.map_or_else(String::new, |why| format!(" ({})", why.trim_end_matches('.')));
        let text = format!(
            "The model `{model}` takes no tools here{said}. It goes on without them: it can talk, \
             but not read or change files or run commands."
        );
        self.session.warn(&text, "").await;
    }

    fn request(
        &self,
        talk: &impl TurnConversation,
        chosen: &ChosenModel,
        has_tools: bool,
    ) -> ChatRequest {
        ChatRequest {
            model: chosen.model.clone(),
            messages: talk.messages(),
            tools: if has_tools {
                self.tools.values().map(|tool| tool.spec.clone()).collect()
            } else {
                Vec::new()
            },
            calls_as_text: !has_tools,
            effort: self.session.options().effort,
        }
    }
}

/// Leaves out calls, which may lack their end.
fn cut_off(assembly: Assembly) -> AssembledAnswer {
    AssembledAnswer { calls: Vec::new(), finish: None, ..assembly.end() }
}

#[cfg(test)]
mod tests;
