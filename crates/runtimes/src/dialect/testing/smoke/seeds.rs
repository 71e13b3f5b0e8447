//! What fuzzing starts from: recordings of the real CLIs, and the words in them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{recordings, stdout_of};

/// Longer ones say nothing that shorter ones do not, and take a fuzzer long to read.
const MAX_BYTES: usize = 32 << 10;
const MAX_MESSAGE_BYTES: usize = 2 << 10;
/// Names and tags are shorter; what is longer is somebody's text.
const MAX_WORD_BYTES: usize = 32;

/// What no recording need have: ends and escapes of all kinds.
const WORDS: [&str; 8] =
    ["\r\n", "\u{1b}[2K", "\u{1b}]0;", "\u{2028}", "\\ud83d", "null", "-1e999", "\u{feff}"];

/// The seeds of a target.
pub(super) fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        // The limit of a line comes last but one: some lines are longer.
        "lines" => printed(&["plain", "cursor-agent"]).map(|text| ended(&text, 200)).collect(),
        "envelope" | "message" => messages(),
        "screen" => screens(),
        "sse" => messages().iter().map(|message| event(message)).collect(),
        "claude_stream_json" => dialect(&["claude", "qwen"]),
        "codex_exec" => dialect(&["codex"]),
        "codex_app_server" => dialect(&["codex-app-server"]),
        "gemini_stream_json" => dialect(&["gemini"]),
        "opencode_json" => dialect(&["opencode", "kilo"]),
        "cursor_stream_json" => dialect(&["cursor-agent"]),
        "copilot_json" => dialect(&["copilot"]),
        "pi_rpc" => dialect(&["pi"]),
        "plain" => dialect(&["plain"]),
        "openai_json" => dialect(&["vibe", "kimi-cli", "kimi-code"]),
        _ => panic!("{target} has no seeds"),
    }
}

/// A message as an event, and a limit that is larger.
fn event(message: &[u8]) -> Vec<u8> {
    let before = b"id: 1\r\nevent: message\ndata: ".as_slice();
    ended(&[before, message, b"\n\n: still here\r\r"].concat(), u8::MAX)
}

/// The names and the short values in seeds, as libFuzzer reads a dictionary.
pub(super) fn dictionary(seeds: &[Vec<u8>]) -> String {
    let mut words = BTreeSet::from(WORDS.map(str::to_owned));
    for line in seeds.iter().flat_map(|seed| seed.split(|byte| *byte == b'\n')) {
        gather(&serde_json::from_slice(line).unwrap_or_default(), &mut words);
    }
    let quoted: Vec<_> = words.iter().map(|word| format!("\"{}\"", escaped(word))).collect();
    quoted.join("\n")
}

/// It knows no escapes but those of quotes, backslashes and numbers.
fn escaped(word: &str) -> String {
    let escaped = |byte: u8| match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => char::from(byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    word.bytes().map(escaped).collect()
}

fn gather(value: &Value, words: &mut BTreeSet<String>) {
    let mut note = |word: &str, end: &str| {
        if word.len() <= MAX_WORD_BYTES && !word.contains(char::is_whitespace) {
            words.insert(format!("{}{end}", Value::from(word)));
        }
    };
    match value {
        Value::String(text) => note(text, ""),
        Value::Object(members) => {
            members.keys().for_each(|name| note(name, ":"));
            members.values().for_each(|value| gather(value, words));
        }
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        _ => {}
    }
}

fn printed(clis: &[&str]) -> impl Iterator<Item = Vec<u8>> {
    let recordings = clis.iter().flat_map(|cli| recordings(cli));
    recordings.map(|(_, path)| stdout_of(&path)).filter(|bytes| bytes.len() < MAX_BYTES)
}

/// A script without steps.
fn ended(bytes: &[u8], setting: u8) -> Vec<u8> {
    [bytes, &[setting, 0]].concat()
}

/// Each recording twice: as it is read by a bystander, and by the one who drives the CLI.
fn dialect(clis: &[&str]) -> Vec<Vec<u8>> {
    printed(clis).flat_map(|bytes| [0, 1].map(|setting| ended(&bytes, setting))).collect()
}

/// The messages that Codex sent, one of each kind, and some of ACP that are not like them.
fn messages() -> Vec<Vec<u8>> {
    const OTHERS: [&str; 4] = [
        r#"{"jsonrpc":"2.0","id":"a\n1","method":"session/prompt","params":{"sessionId":"s","_meta":{}},"pool":"p"}"#,
        r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s\u0031","update":{"sessionUpdate":"plan"}}}"#,
        r#"{"id":null,"error":{"code":-32700,"message":"no","data":{"details":"é"}},"sessionId":"top"}"#,
        r#"{"id":-1.5e3,"result":{"sessionId":"\ud83d\ude00"},"error":null}"#,
    ];
    let mut seen = BTreeSet::new();
    let mut seeds: Vec<Vec<u8>> = OTHERS.map(|line| line.as_bytes().to_vec()).into();
    for text in printed(&["codex-app-server"]) {
        for line in text.split(|byte| *byte == b'\n') {
            let value: Value = serde_json::from_slice(line).unwrap_or_default();
            let kind = format!("{} {}", value["method"], value["params"]["item"]["type"]);
            if line.len() < MAX_MESSAGE_BYTES && seen.insert(kind) {
                seeds.push(line.to_vec());
            }
        }
    }
    seeds
}

/// What was printed as text, to either stream.
fn screens() -> Vec<Vec<u8>> {
    let mut seeds = vec!["\u{1b}[1;31m10%\r\u{9b}2K\u{1b}]0;title\u{7}\u{1b}(B```` done".into()];
    for (_, path) in ["plain", "codex", "gemini"].into_iter().flat_map(recordings) {
        let texts = ["stdout.txt", "stderr.txt"].map(|name| std::fs::read(path.join(name)));
        seeds.extend(texts.into_iter().flatten().filter(|text| text.len() < MAX_BYTES));
    }
    seeds
}
