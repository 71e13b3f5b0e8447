//! What is fuzzed, as functions of bytes: one that returns is content, one that panics has found
//! a bug.
//!
//! Known here and nowhere else. The programs in `fuzz_targets` run each one under libFuzzer; the
//! tests of `runtimes` contain this very file as a module, and run all of them for a moment.

pub mod dialects;
pub mod envelope;
pub mod invariants;
pub mod lines;
pub mod message;
pub mod screen;
pub mod script;
pub mod sse;

use runtimes::dialect::DialectName as Name;

/// A name, and what takes bytes from outside.
pub type Target = (&'static str, fn(&[u8]));

/// All of them. Each has a program of its name.
pub const TARGETS: [Target; 15] = [
    ("lines", lines::cut),
    ("envelope", envelope::read),
    ("message", message::splice),
    ("screen", screen::show),
    ("sse", sse::cut),
    ("claude_stream_json", |data| dialects::speak(Name::ClaudeStreamJson, data)),
    ("codex_exec", |data| dialects::speak(Name::CodexExec, data)),
    ("codex_app_server", |data| dialects::speak(Name::CodexAppServer, data)),
    ("gemini_stream_json", |data| dialects::speak(Name::GeminiStreamJson, data)),
    ("opencode_json", |data| dialects::speak(Name::OpencodeJson, data)),
    ("cursor_stream_json", |data| dialects::speak(Name::CursorStreamJson, data)),
    ("copilot_json", |data| dialects::speak(Name::CopilotJson, data)),
    ("pi_rpc", |data| dialects::speak(Name::PiRpc, data)),
    ("plain", |data| dialects::speak(Name::Plain, data)),
    ("openai_json", |data| dialects::speak(Name::OpenaiJson, data)),
];

pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    let (_, target) = target.unwrap_or_else(|| panic!("{name} is not fuzzed"));
    target(data);
}
