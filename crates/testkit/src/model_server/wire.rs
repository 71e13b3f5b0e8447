//! Answers as bytes: events of a stream, or one document.

use serde_json::{Value, json};

use super::answer::{AnswerContent, AnswerPart, ScriptedAnswer, StreamFault};

/// One action of a connection: a write or a fault.
#[derive(Debug)]
pub(super) enum WriteStep {
    Write(Vec<u8>),
    Hang,
    Cut,
    Reset,
}

/// The body of an answer; how it is framed is the connection's business.
pub(super) fn steps(answer: &ScriptedAnswer, model: &str) -> Vec<WriteStep> {
    let said = match &answer.content {
        AnswerContent::Raw(bytes) => return spoilt(answer, vec![bytes.clone()]),
        AnswerContent::Said(said) => said,
    };
    if !answer.manner.is_streamed {
        let document = document(answer, said, model).to_string();
        return spoilt(answer, vec![document.into_bytes()]);
    }
    let manner = &answer.manner;
    let mut chunks: Vec<Value> = deltas(answer, said).into_iter().map(choice).collect();
    if let Some(reason) = finish(answer, said) {
        chunks.push(json!([{ "index": 0, "delta": {}, "finish_reason": reason }]));
    }
    let mut events: Vec<String> = chunks
        .into_iter()
        .map(|choices| envelope(model, choices, &Value::Null).to_string())
        .collect();
    if let Some(usage) = &answer.usage {
        events.push(envelope(model, json!([]), usage).to_string());
    }
    if manner.has_done {
        events.push("[DONE]".to_owned());
    }
    let n = events.len();
    let events = events.into_iter().enumerate().map(|(at, event)| {
        let end = match at + 1 == n && manner.has_open_end {
            true => String::new(),
            false => manner.line_end.repeat(2),
        };
        let comment = match manner.has_comments {
            true => format!(": still here{0}event: message{0}id: {at}{0}", manner.line_end),
            false => String::new(),
        };
        format!("{comment}data:{}{event}{end}", manner.space).into_bytes()
    });
    spoilt(answer, events.collect())
}

fn envelope(model: &str, choices: Value, usage: &Value) -> Value {
    json!({
        "id": "chatcmpl-test", "object": "chat.completion.chunk", "created": 1_700_000_000,
        "model": model, "system_fingerprint": null, "choices": choices, "usage": usage,
    })
}

fn choice(delta: Value) -> Value {
    json!([{ "index": 0, "delta": delta, "logprobs": null, "finish_reason": null }])
}

fn finish(answer: &ScriptedAnswer, said: &[AnswerPart]) -> Option<String> {
    let calls = said.iter().any(|said| matches!(said, AnswerPart::Call { .. }));
    let usual = if calls { "tool_calls" } else { "stop" };
    Some(answer.finish.clone().unwrap_or_else(|| usual.to_owned())).filter(|why| !why.is_empty())
}

/// The deltas of an answer's parts; those of calls interleaved if wanted.
fn deltas(answer: &ScriptedAnswer, said: &[AnswerPart]) -> Vec<Value> {
    let mut out = vec![json!({ "role": "assistant", "content": "" })];
    let mut calls: Vec<Vec<Value>> = Vec::new();
    for said in said {
        match said {
            AnswerPart::Text(text) => {
                out.extend(pieces(answer, text).map(|piece| json!({ "content": piece })));
            }
            AnswerPart::Thought(thought) => {
                let member = answer.manner.thought_member;
                out.extend(pieces(answer, thought).map(|piece| json!({ member: piece })));
            }
            AnswerPart::Delta(delta) => out.push(delta.clone()),
            AnswerPart::Call { id, name, arguments } => {
                let index = calls.len();
                let fragments = call(answer, index, id.as_deref(), name, arguments);
                calls.push(fragments);
            }
        }
    }
    if !answer.manner.is_interleaved {
        out.extend(calls.into_iter().flatten());
        return out;
    }
    let longest = calls.iter().map(Vec::len).max().unwrap_or(0);
    for at in 0..longest {
        out.extend(calls.iter().filter_map(|fragments| fragments.get(at).cloned()));
    }
    out
}

fn call(
    answer: &ScriptedAnswer,
    index: usize,
    id: Option<&str>,
    name: &str,
    arguments: &str,
) -> Vec<Value> {
    let mut first = json!({
        "type": "function", "function": { "name": name, "arguments": "" },
    });
    if let Some(id) = id {
        first["id"] = json!(id);
    }
    let rest = pieces(answer, arguments).map(|piece| json!({ "function": { "arguments": piece } }));
    std::iter::once(first)
        .chain(rest)
        .map(|mut fragment| {
            if answer.manner.has_index {
                fragment["index"] = json!(index);
            }
            json!({ "tool_calls": [fragment] })
        })
        .collect()
}

/// Words with the space after them, or as many characters as wanted.
fn pieces<'a>(answer: &ScriptedAnswer, text: &'a str) -> impl Iterator<Item = String> + use<'a> {
    let chars = answer.manner.piece_chars;
    let pieces: Vec<String> = match chars {
        0 => text.split_inclusive(' ').map(str::to_owned).collect(),
        _ => {
            let all: Vec<char> = text.chars().collect();
            all.chunks(chars).map(|piece| piece.iter().collect()).collect()
        }
    };
    pieces.into_iter()
}

fn document(answer: &ScriptedAnswer, said: &[AnswerPart], model: &str) -> Value {
    let mut message = json!({ "role": "assistant", "content": null });
    let mut calls = Vec::new();
    let add = |slot: &mut Value, text: &str| {
        *slot = json!(format!("{}{text}", slot.as_str().unwrap_or_default()));
    };
    for said in said {
        match said {
            AnswerPart::Text(text) => add(&mut message["content"], text),
            AnswerPart::Thought(thought) => {
                add(&mut message[answer.manner.thought_member], thought);
            }
            AnswerPart::Delta(delta) => message = delta.clone(),
            AnswerPart::Call { id, name, arguments } => {
                let function = json!({ "name": name, "arguments": arguments });
                calls.push(json!({ "id": id, "type": "function", "function": function }));
            }
        }
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish(answer, said) });
    json!({
        "id": "chatcmpl-test", "object": "chat.completion", "created": 1_700_000_000,
        "model": model, "choices": [choice], "usage": answer.usage,
    })
}

/// The events as writes, with the faults between them.
fn spoilt(answer: &ScriptedAnswer, events: Vec<Vec<u8>>) -> Vec<WriteStep> {
    let mut steps = Vec::new();
    let n = events.len();
    for (at, event) in events.into_iter().map(Some).chain([None]).enumerate() {
        for (_, spoil) in answer.spoilt.iter().filter(|(place, _)| *place == at && at <= n) {
            match spoil {
                StreamFault::Insert(bytes) => steps.push(WriteStep::Write(bytes.clone())),
                StreamFault::Hang => steps.push(WriteStep::Hang),
                StreamFault::Cut => steps.push(WriteStep::Cut),
                StreamFault::Reset => steps.push(WriteStep::Reset),
                StreamFault::End => return steps,
            }
        }
        steps.extend(event.map(WriteStep::Write));
    }
    steps
}
