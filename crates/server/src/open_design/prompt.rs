//! What a run says to its agent.

use serde_json::{Value, json};
use sessions::details::Details;
use sessions::made_of::MadeOf;

use super::body::NewRun;

/// The blocks of the prompt. `earlier` is of a session which exists already.
pub(super) fn blocks(
    new: &NewRun,
    instructions: Option<&str>,
    earlier: Option<(&Details, &MadeOf)>,
    enclosed: Vec<Value>,
) -> Vec<Value> {
    let remembers = earlier.is_some_and(|(details, _)| details.last_prompt.is_some());
    // An agent that remembers need not be told again what was said.
    let (first, second) = match remembers {
        true => (&new.current_prompt, &new.message),
        false => (&new.message, &new.current_prompt),
    };
    let mut text = first.as_ref().or(second.as_ref()).cloned().unwrap_or_default();
    if let (Some((_, made_of)), Some(now)) = (earlier, instructions)
        && earlier_instructions(made_of).as_deref() != Some(now)
    {
        // The agent has others from when the conversation began.
        text = format!("# Instructions\n\n{}\n\n# Request\n\n{text}", now.trim());
    }
    let mut blocks = Vec::new();
    if !text.is_empty() {
        blocks.push(json!({ "type": "text", "text": text }));
    }
    blocks.extend(enclosed);
    blocks
}

/// The instructions that the session was made with.
fn earlier_instructions(made_of: &MadeOf) -> Option<String> {
    let params: Value = made_of.new_params.read().ok()?;
    params["_meta"]["systemPrompt"]["append"].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
