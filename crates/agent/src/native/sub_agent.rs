//! The tool `task`: a piece of work for a second conversation with the same model.
//!
//! The sub-agent's reading and trying does not fill the window here: only its last text comes back.
//! Its own tool calls are shown to the client like all others, and ask for permission like all
//! others; it cannot start further tasks. Its requests count as those of the turn that it works for.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use wire::event::StopReason;

use super::assemble::AssembledAnswer;
use super::chat::{ChatMessage, MessagePart, push_user};
use super::context;
use super::context_tools::checks;
use super::excerpt;
use super::session::NativeSession;
use super::settings::ContextToolName;
use super::tool::arguments::string;
use super::tool::{
    CallContent, PreparedCall, Tool, ToolContext, ToolError, ToolKind, ToolOutput, Toolbox, by_name,
};
use super::turn::{ConversationResult, ModelTurn, TextKind, TurnConversation};
use super::turn_bounds::TurnBounds;

const FOR_A_TASK: &str = "You work on one task that another agent has given you. Nobody can answer \
     questions. Your last message is all that comes back to it: put everything in it that was \
     asked for, with paths and lines.";
/// Characters of a sub-agent's latest answer that are shown as progress.
const PROGRESS_CHARS: usize = 2000;

#[derive(Deserialize)]
struct TaskArguments {
    description: String,
    prompt: String,
}

pub(super) fn tool(session: Arc<NativeSession>, bounds: TurnBounds) -> Arc<Tool> {
    let description = "Gives a self-contained piece of work (a search through many files, a \
        question about the code, a separate change) to a sub-agent with the same tools and an \
        empty context. It sees nothing of this conversation: the prompt must say everything. Its \
        final message is the result. Several can run at once.";
    let about = "Everything that the sub-agent must know and what it shall give back";
    let arguments = [
        string("description", "The task in three to five words").required(),
        string("prompt", about).required(),
    ];
    let prepare = move |asked: TaskArguments, context: &ToolContext| {
        let (session, bounds, context) = (session.clone(), bounds.clone(), context.clone());
        let work = async move {
            let words = SubAgent::new(session, bounds, context).work_on(asked.prompt).await?;
            let content = vec![CallContent::Text(words.clone())];
            Ok(ToolOutput { content, ..ToolOutput::text(words) })
        };
        // The sub-agent's calls ask for permission themselves.
        Ok(PreparedCall::free(asked.description, work))
    };
    Tool::at_once("task", ToolKind::Think, description, arguments, prepare)
}

/// The tools of a sub-agent: none that work on the session's own conversation, and no further
/// tasks.
pub(super) fn tools(session: &Arc<NativeSession>) -> Vec<Arc<Tool>> {
    let is_on = session.context_tools().0.contains(&ContextToolName::Verify);
    let verify = is_on.then(|| checks::tool(session.clone()));
    session.tools.iter().cloned().chain(session.servers.tools()).chain(verify).collect()
}

/// A sub-agent: a second conversation, which can be given one thing after another.
pub(super) struct SubAgent {
    session: Arc<NativeSession>,
    bounds: TurnBounds,
    tools: Toolbox,
    talk: SubAgentConversation,
}

impl SubAgent {
    /// A sub-agent that belongs to the call of `context`.
    pub(super) fn new(
        session: Arc<NativeSession>,
        bounds: TurnBounds,
        context: ToolContext,
    ) -> Self {
        let tools = by_name(tools(&session));
        let system = session.instructions.text(session.options().mode, true);
        let system = ChatMessage::System { text: format!("{system}\n\n{FOR_A_TASK}") };
        let talk = SubAgentConversation {
            session: session.clone(),
            context,
            messages: vec![system],
            said: String::new(),
            n_answers: 0,
        };
        Self { session, bounds, tools, talk }
    }

    /// Works on a prompt; returns the last words of the answer.
    pub(super) async fn work_on(&mut self, prompt: String) -> Result<String, ToolError> {
        push_user(&mut self.talk.messages, vec![MessagePart::text(prompt)]);
        let n_before = self.talk.messages.len();
        let turn = ModelTurn { session: &self.session, tools: &self.tools, bounds: &self.bounds };
        let ended = turn.run(&mut self.talk).await;
        let words = self.talk.last_words(n_before);
        match ended {
            Ok(StopReason::EndTurn | StopReason::MaxTokens) if !words.is_empty() => Ok(words),
            Ok(stop) => Err(ToolError(format!(
                "The sub-agent ended without an answer ({}). What it had said: {words}",
                stop.as_str()
            ))),
            Err(error) => Err(ToolError(format!("The sub-agent failed: {error}"))),
        }
    }
}

/// The sub-agent's conversation, kept only while it lasts.
struct SubAgentConversation {
    session: Arc<NativeSession>,
    /// The context of the call that the task is.
    context: ToolContext,
    messages: Vec<ChatMessage>,
    /// The text of the answer that is coming.
    said: String,
    n_answers: u64,
}

impl SubAgentConversation {
    /// Leaves out tool results, the oldest first: they are what it needs least.
    fn shorten_to(&mut self, n_tokens: u64) {
        for place in 0..self.messages.len() {
            if context::estimate(&self.messages) <= n_tokens {
                return;
            }
            if let Some(ChatMessage::Tool { parts, .. }) = self.messages.get_mut(place) {
                *parts = vec![MessagePart::text("[left out to make room]")];
            }
        }
    }

    /// The last text after so many messages.
    fn last_words(&self, n_before: usize) -> String {
        let words = self.messages.iter().skip(n_before).rev().find_map(|message| match message {
            ChatMessage::Assistant { text, .. } if !text.is_empty() => Some(text.clone()),
            _ => None,
        });
        words.unwrap_or_default()
    }
}

impl TurnConversation for SubAgentConversation {
    fn messages(&self) -> Vec<ChatMessage> {
        self.messages.clone()
    }

    async fn say(&mut self, voice: TextKind, text: &str) -> ConversationResult {
        if voice == TextKind::Message {
            self.said.push_str(text);
            // A line at a time is enough for whoever watches.
            if text.contains('\n') {
                let tail = excerpt::tail(&self.said, PROGRESS_CHARS);
                self.context.show(&[CallContent::Text(tail.to_owned())], &[]);
            }
        }
        Ok(())
    }

    async fn remark(&mut self, text: &str) -> ConversationResult {
        tracing::info!("{text}");
        Ok(())
    }

    async fn keep_answer(&mut self, said: AssembledAnswer) -> ConversationResult<u64> {
        self.said.clear();
        if let Some(usage) = said.usage {
            self.session.spend_aside(usage).await?;
        }
        if said.finish.is_some() {
            let AssembledAnswer { text, thought, calls, .. } = said;
            self.messages.push(ChatMessage::Assistant { text, thought, calls });
        }
        self.n_answers += 1;
        Ok(self.n_answers - 1)
    }

    async fn show(&mut self, mut update: Value) -> ConversationResult {
        // Clients show what a sub-agent does as a part of the call that it works for.
        if update["toolCallId"].is_string() {
            update["_meta"]["switchyard"]["parentToolCallId"] = json!(self.context.call);
        }
        self.session.send_update(update).await
    }

    async fn keep_result(
        &mut self,
        _: u64,
        index: usize,
        _: Value,
        parts: Vec<MessagePart>,
    ) -> ConversationResult {
        let calls = self.messages.iter().rev().find_map(|message| match message {
            ChatMessage::Assistant { calls, .. } => Some(calls),
            _ => None,
        });
        let call = calls.and_then(|calls| calls.get(index)).map(|call| call.id.clone());
        self.messages.extend(call.map(|call| ChatMessage::Tool { call, parts }));
        Ok(())
    }

    fn call_id(&self, answer: u64, index: usize) -> String {
        format!("{}-{answer}-{index}", self.context.call)
    }

    async fn make_room(&mut self, _used: u64) -> ConversationResult {
        let full = self.session.compaction_threshold().await?;
        self.shorten_to(full);
        Ok(())
    }

    async fn shrink(&mut self) -> ConversationResult<bool> {
        let before = context::estimate(&self.messages);
        self.shorten_to(before / 2);
        Ok(context::estimate(&self.messages) < before)
    }
}

#[cfg(test)]
mod tests;
