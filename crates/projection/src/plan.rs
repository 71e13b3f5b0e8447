//! An agent's plan: its steps and their states.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::json::{JsonNode, JsonObject};

/// One line of a plan.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanStep {
    pub content: String,
    pub status: String,
    #[schema(nullable = false)]
    pub priority: Option<String>,
}

impl PlanStep {
    pub fn mark(&self) -> &'static str {
        match self.status.as_str() {
            "completed" => "[x]",
            "in_progress" => "[~]",
            "cancelled" => "[-]",
            _ => "[ ]",
        }
    }

    /// As a line of text.
    pub(crate) fn line(&self) -> String {
        format!("{} {}", self.mark(), self.content)
    }
}

/// The entries of a `plan` (or of the draft `plan_update`, which has them one level down).
pub(crate) fn entries(update: &JsonObject<'_>) -> Vec<PlanStep> {
    let mut entries = update.items("entries");
    if entries.is_empty() {
        entries = update.object("plan").items("entries");
    }
    let read = |node: JsonNode<'_>| {
        let entry = node.object();
        let content = entry.non_blank_text("content")?.into_owned();
        let priority = entry.non_blank_text("priority").map(std::borrow::Cow::into_owned);
        let status = entry.text("status").unwrap_or_default().into_owned();
        Some(PlanStep { content, status, priority })
    };
    entries.into_iter().filter_map(read).collect()
}

/// The steps of a changed plan that are worth showing: all of another plan, and of one that goes a
/// step further only those that changed, since the rest has been read.
pub(crate) fn steps(before: &[PlanStep], now: &[PlanStep]) -> Vec<PlanStep> {
    let is_same = before.len() == now.len()
        && before.iter().zip(now).all(|(before, now)| before.content == now.content);
    let is_new = |(before, now): &(&PlanStep, &PlanStep)| before != now;
    match is_same {
        true => before.iter().zip(now).filter(is_new).map(|(_, now)| now.clone()).collect(),
        false => now.to_vec(),
    }
}
