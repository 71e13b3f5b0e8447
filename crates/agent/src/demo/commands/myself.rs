//! Commands by which the agent remembers and talks about itself.
//!
//! In: arguments. Out: text.
//! What `recall` lists was said in this session, in this process or before it.

use super::arguments::Arguments;
use super::{Done, Flow};
use crate::demo::turn::Turn;
use std::fmt::Write as _;

pub(super) async fn perform(turn: &Turn, name: &str, mut arguments: Arguments<'_>) -> Done {
    let text = match name {
        "remember" => {
            let note = arguments.need_rest()?;
            turn.change(|session| session.record.notes.push(note.to_owned()));
            format!("I will remember: {note}\n")
        }
        "recall" => recall(turn),
        "cwd" => format!("{}\n", turn.cwd()),
        "env" => {
            let name = arguments.need_word()?;
            match std::env::var_os(name) {
                Some(value) => format!("{name}={}\n", value.to_string_lossy()),
                None => format!("{name} is not set\n"),
            }
        }
        "pid" => format!("{}\n", std::process::id()),
        _ => turn.blocks.get().to_owned(),
    };
    turn.say(text).await;
    Ok(Flow::Next)
}

fn recall(turn: &Turn) -> String {
    let memory = turn.change(|session| {
        let record = &session.record;
        // The last prompt is the one that asks.
        let n_prompts = record.prompts.len().saturating_sub(1);
        let mut text =
            format!("I remember {n_prompts} earlier prompts and {} notes.\n", record.notes.len());
        for (n, prompt) in record.prompts.iter().take(n_prompts).enumerate() {
            let _ = writeln!(text, "prompt {}: {prompt}", n + 1);
        }
        for (n, note) in record.notes.iter().enumerate() {
            let _ = writeln!(text, "note {}: {note}", n + 1);
        }
        text
    });
    memory.unwrap_or_else(|| "This session was deleted.\n".to_owned())
}
