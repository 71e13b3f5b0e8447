//! Commands that say something, also about the agent itself.
//!
//! In: arguments. Out: message chunks. What is said is valid ACP, however odd the text is. What
//! `recall` lists was said in this session, in this process or before it.

use crate::demo::turn::DemoTurn;
use serde_json::json;
use std::fmt::Write as _;
use std::time::Duration;

/// A red square of 8 by 8 pixels.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEUlEQVR42mP4z8CAFTEMLQkAKP8/wc53yE8AAAAASUVORK5CYII=";

pub(super) const MARKDOWN: &str = "\
# A small sample

Some *emphasis*, some **strength**, some `code`, and a [link](https://agentclientprotocol.com).

- one
- two
  1. nested
  2. list

| left | right |
|:-----|------:|
| a    |     1 |

```rust
fn main() {
    println!(\"Hello from the demo agent\");
}
```

> And a quote to end with.
";

// Each line names what it does, so that a broken rendering can be told from a correct one.
pub(super) const UNICODE: &str = "\
emoji: 👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇪🇺
right to left: שלום עולם, مرحبا بالعالم
combining: e\u{301} Z\u{351}\u{36b}\u{343}a\u{32a}l\u{333}g\u{321}o\u{33a}
wide: 漢字かな交じり文 ｆｕｌｌ
line separators: before\u{2028}after\u{2029}end\u{85}next
zero width: a\u{200b}b\u{200c}c\u{200d}d\u{feff}e
bidi controls: \u{202e}desrever\u{202c} \u{2066}isolated\u{2069} \u{200f}mark
ANSI: \u{1b}[31mred\u{1b}[0m \u{1b}[2J\u{1b}[H cleared?
OSC 52: \u{1b}]52;c;aGVsbG8=\u{7} OSC 8: \u{1b}]8;;http://example.invalid\u{1b}\\link\u{1b}]8;;\u{1b}\\
C0 and C1: \u{0}\u{8}\u{b}\u{c}\u{7f}\u{9b}31m
noncharacter and plane 16: \u{ffff} \u{10fffd}
HTML: <script>alert(1)</script> &amp; <img src=x onerror=alert(1)>
";

pub(super) const GREETING: &str = "\
Hello! I am the demo agent that is built into Switchyard. There is no model behind me: I do what \
the script in your prompt says. Send `help` to see what I can do.\n";

pub(super) const PROVIDER_ERROR: &str = "API Error: 529 \
{\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}";

/// The text of chunk `n`: numbered, and padded to a size.
fn chunk_text(n: u64, n_bytes: usize) -> String {
    let mut text = format!("chunk {n}");
    let n_padding = n_bytes.saturating_sub(text.len() + 1);
    text.extend(std::iter::repeat_n('.', n_padding));
    text.push('\n');
    text
}

pub(super) async fn stream(turn: &DemoTurn, text: &str) {
    for word in text.split_inclusive(' ') {
        turn.say(word).await;
    }
}

pub(super) async fn numbered(turn: &DemoTurn, n_chunks: u64, n_bytes: usize, pause_ms: u64) {
    for n in 1..=n_chunks {
        if pause_ms > 0 {
            tokio::time::sleep(Duration::from_millis(pause_ms)).await;
        }
        turn.say(chunk_text(n, n_bytes)).await;
    }
}

pub(super) async fn image(turn: &DemoTurn) {
    turn.update(json!({
        "sessionUpdate": "agent_message_chunk",
        "content": { "type": "image", "data": PNG, "mimeType": "image/png" },
    }))
    .await;
}

/// A variable of the environment.
pub(super) fn variable(name: &str) -> String {
    match std::env::var_os(name) {
        Some(value) => format!("{name}={}\n", value.to_string_lossy()),
        None => format!("{name} is not set\n"),
    }
}

pub(super) async fn remember(turn: &DemoTurn, note: &str) {
    turn.change(|session| session.record.remember_note(note.to_owned()));
    turn.say(format!("I will remember: {note}\n")).await;
}

pub(super) fn recall(turn: &DemoTurn) -> String {
    let memory = turn.change(|session| (session.record.prompts(), session.record.notes()));
    let Some((mut prompts, notes)) = memory else {
        return "This session was deleted.\n".to_owned();
    };
    // The last prompt is the one that asks.
    prompts.pop();
    let mut text =
        format!("I remember {} earlier prompts and {} notes.\n", prompts.len(), notes.len());
    for (n, prompt) in prompts.iter().enumerate() {
        let _ = writeln!(text, "prompt {}: {prompt}", n + 1);
    }
    for (n, note) in notes.iter().enumerate() {
        let _ = writeln!(text, "note {}: {note}", n + 1);
    }
    text
}
