//! What the payloads of a log say, as far as they say it.
//!
//! In: an event. Out: the few facts that projections tell, all optional. Only the shape of
//! payloads is known here; what to make of them is each projection's own business. Tool
//! calls, which are told in several pieces, are put together in `tools`.

use std::borrow::Cow;

use wire::event::{Limit, LimitReached, Outcome, PromptDropped, TurnEnded, UsageScope};
use wire::{Event, Fault, Json, fault};

use super::json::{Node, Object};
use super::media::{Media, decoded_len};

/// The members of `update` in the payload of a `session/update`.
pub(crate) fn update_of(event: &Event) -> Object<'_> {
    Node::of(&event.payload).object().object("update")
}

/// Longest text that is shown inside of a line.
const LONGEST_INLINE: usize = 200;

/// A content block of a prompt, a message or a tool's output.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    pub(crate) node: Node<'a>,
    fields: Object<'a>,
}

/// A file that a block carries or points to, when its name and size are known.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct File {
    pub(crate) reference: String,
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) mime_type: Option<String>,
}

/// The blocks of a `content` or `prompt` member, which some agents send as one block, some
/// as a list, and some as a bare string.
pub(crate) fn blocks(content: Option<Node<'_>>) -> Vec<Block<'_>> {
    let Some(node) = content else { return Vec::new() };
    if node.is_list() {
        node.items().into_iter().map(Block::of).collect()
    } else {
        vec![Block::of(node)]
    }
}

/// The text of a message chunk; other blocks have none.
pub(crate) fn chunk_text(update: &Object<'_>) -> String {
    blocks(update.get("content")).iter().filter_map(Block::text).collect()
}

impl<'a> Block<'a> {
    pub(crate) fn of(node: Node<'a>) -> Self {
        Self { node, fields: node.object() }
    }

    pub(crate) fn text(&self) -> Option<Cow<'a, str>> {
        match self.kind().as_deref() {
            None | Some("text") => self.node.text().or_else(|| self.fields.text("text")),
            Some(_) => None,
        }
    }

    pub(crate) fn file(&self) -> Option<File> {
        let resource = self.fields.object("resource");
        let holder = if resource.is_empty() { &self.fields } else { &resource };
        let uri = holder.words("uri");
        let name = self.fields.words("name").or_else(|| last_segment(uri.as_deref()?))?;
        let size = holder.count("size").or_else(|| embedded_size(holder))?;
        Some(File {
            reference: uri.unwrap_or_else(|| name.clone()).into_owned(),
            name: name.into_owned(),
            size,
            mime_type: holder.words("mimeType").map(Cow::into_owned),
        })
    }

    /// The image or sound that the block holds.
    pub(crate) fn media(&self) -> Option<Media<'a>> {
        Media::of(&self.fields)
    }

    /// A short description of a block that is not text.
    pub(crate) fn describe(&self) -> Option<String> {
        let kind = self.kind().filter(|kind| kind != "text")?;
        if let Some(media) = self.media() {
            return Some(media.describe());
        }
        let resource = self.fields.object("resource");
        let detail = ["name", "uri", "mimeType"]
            .iter()
            .find_map(|key| self.fields.words(key).or_else(|| resource.words(key)));
        Some(match detail {
            // An address may hold the whole file.
            Some(detail) => format!("[{}: {}]", inline(&kind), inline(&detail)),
            None => format!("[{}]", inline(&kind)),
        })
    }

    /// What tells one block that is not text from another, however it is written.
    pub(crate) fn identity(&self) -> (String, Option<String>) {
        let resource = self.fields.object("resource");
        let uri = self.fields.words("uri").or_else(|| resource.words("uri"));
        (self.kind().unwrap_or_default().into_owned(), uri.map(Cow::into_owned))
    }

    fn kind(&self) -> Option<Cow<'a, str>> {
        self.fields.text("type")
    }
}

fn last_segment<'a>(uri: &str) -> Option<Cow<'a, str>> {
    let path = uri.split(['?', '#']).next()?;
    let name = path.trim_end_matches('/').rsplit('/').next()?;
    (!name.is_empty() && !name.ends_with(':')).then(|| Cow::Owned(name.to_owned()))
}

/// The size of what the block itself holds, as text or as base64.
fn embedded_size(holder: &Object<'_>) -> Option<u64> {
    if let Some(text) = holder.text("text") {
        return Some(text.len() as u64);
    }
    let data = holder.text("data").or_else(|| holder.text("blob"))?;
    Some(decoded_len(&data))
}

/// `text` as one line without control characters, and not too long for
/// one: inline markdown stays that.
pub(crate) fn inline(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(LONGEST_INLINE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A block that is not text, in one line; not safe yet.
pub fn describe_block(block: &Json) -> Option<String> {
    Block::of(Node::of(block)).describe()
}

/// The call on whose behalf a sub-agent says or does what `fields` tell.
pub(crate) fn parent_call(fields: &Object<'_>) -> Option<String> {
    let meta = fields.object("_meta");
    let parent = meta.object("claudeCode").words("parentToolUseId");
    parent.or_else(|| meta.object("switchyard").words("parentToolCallId")).map(Cow::into_owned)
}

/// One line of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlanEntry {
    pub(crate) content: String,
    pub(crate) status: String,
}

impl PlanEntry {
    pub(crate) fn mark(&self) -> &'static str {
        match self.status.as_str() {
            "completed" => "[x]",
            "in_progress" => "[~]",
            "cancelled" => "[-]",
            _ => "[ ]",
        }
    }
}

/// The entries of a `plan` (or of the draft `plan_update`, which has them one level down).
pub(crate) fn plan_entries(update: &Object<'_>) -> Vec<PlanEntry> {
    let mut entries = update.items("entries");
    if entries.is_empty() {
        entries = update.object("plan").items("entries");
    }
    let read = |node: Node<'_>| {
        let entry = node.object();
        let content = entry.words("content")?.into_owned();
        Some(PlanEntry { content, status: entry.text("status").unwrap_or_default().into_owned() })
    };
    entries.into_iter().filter_map(read).collect()
}

/// The end of a turn.
#[derive(Debug)]
pub(crate) struct TurnEnd {
    pub(crate) outcome: Outcome,
    pub(crate) stop_reason: Option<String>,
    pub(crate) fault: Option<Fault>,
    pub(crate) usage: Option<super::Usage>,
    /// Of its requests to the model only the last is counted in `usage`.
    pub(crate) is_usage_partial: bool,
    /// What it has cost, in US dollars.
    pub(crate) cost_usd: Option<f64>,
}

impl TurnEnd {
    /// The end of a turn of which the log has none.
    pub(crate) fn unknown() -> Self {
        Self {
            outcome: Outcome::Failed,
            stop_reason: None,
            fault: None,
            usage: None,
            is_usage_partial: false,
            cost_usd: None,
        }
    }

    /// The end of a turn that never began: its prompt was dropped.
    pub(crate) fn dropped(dropped: PromptDropped) -> Self {
        let stop_reason = Some(dropped.reason.as_str().to_owned());
        Self { outcome: Outcome::Cancelled, stop_reason, ..Self::unknown() }
    }

    pub(crate) fn of(ended: &TurnEnded<'_>) -> Self {
        Self {
            outcome: ended.outcome(),
            stop_reason: Some(ended.stop_reason.as_str().to_owned()),
            fault: ended.error.clone(),
            usage: super::Usage::of(ended),
            is_usage_partial: ended.usage_of == Some(UsageScope::LastCall),
            cost_usd: ended.cost_usd,
        }
    }
}

/// Some agents say an error as their answer first, and then again as the end of the turn, with a
/// label before it and a number behind. More is not left out: what an agent says does not hide what
/// has happened.
pub(crate) fn is_said(answer: &str, message: &str) -> bool {
    /// What is shorter stands in many errors.
    const SHORTEST: usize = 12;
    const LONGEST_LABEL: usize = 40;
    let (answer, message) = (answer.trim(), message.trim());
    let bare = message.strip_prefix(fault::ANSWERED).unwrap_or(message);
    let words = answer.strip_prefix("Error: ").unwrap_or(answer);
    let around = bare.split_once(words).filter(|_| words.len() >= SHORTEST);
    let is_whole = around.is_some_and(|(before, after)| {
        let is_label = before.is_empty() || before.ends_with(": ");
        is_label && before.len() <= LONGEST_LABEL && !after.contains(char::is_alphabetic)
    });
    answer == message || is_whole
}

/// `5300 of 5000 tokens are used`.
pub(crate) fn limit_words(reached: &LimitReached) -> String {
    let LimitReached { used, allowed, .. } = reached;
    match reached.limit {
        Limit::Turns => format!("{used} of {allowed} turns are used"),
        Limit::RunningSeconds => format!("{used} of {allowed} seconds of running time are used"),
        Limit::InactiveSeconds => format!("the agent has said nothing for {used} seconds"),
        Limit::Tokens => format!("{used} of {allowed} tokens are used"),
        Limit::CostUsd => format!("{used} of {allowed} US dollars are used"),
    }
}

/// The model a session's details or configuration options name.
pub(crate) fn model_of(fields: &Object<'_>) -> Option<String> {
    if let Some(model) = fields.words("model") {
        return Some(model.into_owned());
    }
    if let Some(model) = fields.object("models").words("currentModelId") {
        return Some(model.into_owned());
    }
    let options: Vec<_> = fields.items("configOptions").into_iter().map(Node::object).collect();
    let by_category = options.iter().find(|o| o.text("category").as_deref() == Some("model"));
    let by_id = || options.iter().find(|o| o.text("id").as_deref() == Some("model"));
    let option = by_category.or_else(by_id)?;
    option.words("currentValue").map(Cow::into_owned)
}

#[cfg(test)]
mod tests;
