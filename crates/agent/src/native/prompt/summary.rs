//! Summaries of a conversation, by the model that has it.
//!
//! Always true: only a whole answer stands for a whole session. A conversation that is too
//! much for the endpoint is summarised with its long parts cut in the middle.

use futures_util::StreamExt as _;
use wire::Category;

use crate::native::chat::{
    ChatMessage, ChatRequest, Delta, FinishReason, MessagePart, TokenUsage, push_user,
};
use crate::native::excerpt;
use crate::native::models::ChosenModel;
use crate::native::provider::ModelFailure;
use crate::native::session::NativeSession;

const ASK: &str = "Summarise this whole session for yourself, so that you can go on with it \
     knowing nothing else: what the user wants, in their own words where they matter; what was \
     decided and why; which files were read and changed and how; commands and their results that \
     still count; what is done, what is open, what comes next. Be complete and exact about names, \
     paths and numbers. Answer with the summary alone.";
/// Characters sent of each part: the limits are tried in this order until the endpoint takes it.
const CHARS_OF_PART: [usize; 4] = [usize::MAX, 4000, 1000, 200];
/// Longest summary: a longer one saves nothing.
const MAX_BYTES: usize = 256 << 10;
const LEFT_OUT: &str = "\n[… left out …]\n";

pub(super) async fn make(
    session: &NativeSession,
    messages: Vec<ChatMessage>,
    usage: &mut TokenUsage,
) -> Result<String, ModelFailure> {
    let chosen = session.chosen().await?;
    let mut last = None;
    for n_chars in CHARS_OF_PART {
        let messages = shortened(&messages, n_chars);
        match ask(&chosen, messages, !session.has_tools(), usage).await {
            Err(failure) if failure.is_too_long() => last = Some(failure),
            summary => return summary,
        }
    }
    Err(last.unwrap_or_else(|| ModelFailure {
        category: Category::Internal,
        message: "The session cannot be summarised.".to_owned(),
    }))
}

async fn ask(
    chosen: &ChosenModel,
    mut messages: Vec<ChatMessage>,
    is_in_words: bool,
    usage: &mut TokenUsage,
) -> Result<String, ModelFailure> {
    push_user(&mut messages, vec![MessagePart::text(ASK)]);
    let model = chosen.model.clone();
    let request =
        ChatRequest { model, messages, calls_as_text: is_in_words, ..ChatRequest::default() };
    let mut answer = chosen.provider.chat(request);
    let (mut summary, mut is_cut) = (String::new(), false);
    while let Some(delta) = answer.next().await {
        match delta? {
            Delta::Text(text) => summary.push_str(&text),
            Delta::Usage(counted) => *usage += counted,
            Delta::Finish(finish) => is_cut = finish == FinishReason::Length,
            _ => {}
        }
        is_cut |= summary.len() > MAX_BYTES;
        if is_cut {
            break;
        }
    }
    let useless = |how| {
        let message = format!("The model gave a summary that {how}; nothing was left out.");
        Err(ModelFailure { category: Category::Protocol, message })
    };
    match summary.trim() {
        "" => useless("is empty"),
        _ if is_cut => useless("has no end"),
        _ => Ok(summary),
    }
}

fn shortened(messages: &[ChatMessage], n_chars: usize) -> Vec<ChatMessage> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        match message {
            // Without the system prompt the rest makes no sense, and it does not grow.
            ChatMessage::System { .. } => {}
            ChatMessage::User { parts } | ChatMessage::Tool { parts, .. } => {
                for part in parts {
                    if let MessagePart::Text { text } = part {
                        shorten(text, n_chars);
                    }
                }
            }
            ChatMessage::Assistant { text, thought, .. } => {
                shorten(text, n_chars);
                shorten(thought, n_chars);
            }
        }
    }
    messages
}

/// Keeps the beginning and the end.
fn shorten(text: &mut String, n_chars: usize) {
    let half = n_chars / 2;
    *text = excerpt::ends(text, (half, half), |_| LEFT_OUT.to_owned());
}
