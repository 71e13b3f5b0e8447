//! What every dialect is tried with: recordings, and recordings that were spoilt. What must hold
//! of them all is what the fuzzers hold them to [`fuzz::invariants`].

#[allow(unreachable_pub, reason = "it is a crate of its own, too")]
#[path = "../../../../fuzz/src/lib.rs"]
mod fuzz;
mod smoke;
mod spoil;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    CliExit, ComposedPrompt, ConversationOptions, DialectName, DialectOutput, DialectReader,
    Outputs, TurnOutcome,
};
pub(super) use fuzz::invariants::{check, check_over, text_of, turn_ends};

const MAX_LINE: usize = 64 << 20;

/// Where recordings are: `recordings/CLI/VERSION/SCENARIO/`.
pub(super) fn recordings(cli: &str) -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings").join(cli);
    let mut found = Vec::new();
    for version in entries(&root) {
        for scenario in entries(&version) {
            let name = scenario.file_name().unwrap().to_string_lossy().into_owned();
            found.push((name, scenario));
        }
    }
    assert!(!found.is_empty(), "no recordings in {}", root.display());
    found
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(dir)
        .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// What the CLI printed in a recording: `stdout.jsonl`, `stdout.txt`, or its side of
/// `transcript.jsonl`.
pub(super) fn stdout_of(recording: &Path) -> Vec<u8> {
    for name in ["stdout.jsonl", "stdout.txt"] {
        if let Ok(bytes) = std::fs::read(recording.join(name)) {
            return bytes;
        }
    }
    let transcript = std::fs::read_to_string(recording.join("transcript.jsonl")).unwrap();
    let mut out = Vec::new();
    for line in transcript.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        if entry["dir"] != "agent→client" {
            continue;
        }
        match entry["raw"].as_str() {
            Some(raw) => out.extend_from_slice(raw.as_bytes()),
            None => out.extend_from_slice(entry["msg"].to_string().as_bytes()),
        }
        out.push(b'\n');
    }
    out
}

/// How the recorded process ended.
pub(super) fn exit_of(recording: &Path) -> CliExit {
    let text = std::fs::read_to_string(recording.join("exit.json")).unwrap_or_default();
    let exit: Value = serde_json::from_str(&text).unwrap_or_default();
    let number = |name: &str| exit[name].as_i64().and_then(|n| i32::try_from(n).ok());
    CliExit {
        code: number("code"),
        signal: number("signal"),
        stderr: std::fs::read_to_string(recording.join("stderr.txt")).unwrap_or_default(),
        is_stopped_by_us: false,
    }
}

/// Everything said about `bytes`, fed in pieces that end at `cuts`.
pub(super) fn translate(
    name: DialectName,
    bytes: &[u8],
    cuts: &[usize],
    exit: &CliExit,
) -> Outputs {
    let (mut dialect, mut reader) = (name.start(), DialectReader::new(name, MAX_LINE));
    let mut out = Outputs::default();
    let mut from = 0;
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.sort_unstable();
    for to in cuts.into_iter().chain([bytes.len()]) {
        reader.feed(&bytes[from..to], &mut *dialect, &mut out);
        from = to;
    }
    reader.finish(exit, &mut *dialect, &mut out);
    out
}

/// One line each, for snapshots. Long strings are cut.
pub(super) fn render(said: &[DialectOutput]) -> String {
    let mut text = String::new();
    for said in said {
        let line = match said {
            DialectOutput::Update(update) => json!({ "update": update }),
            DialectOutput::ConversationOpened(opened) => json!({
                "opened": { "session": opened.session, "model": opened.model,
                            "models": opened.models.iter().map(|m| &m.id).collect::<Vec<_>>() }
            }),
            DialectOutput::SessionId(id) => json!({ "session": id }),
            DialectOutput::ConversationLost(failure) => {
                json!({ "lost": failure.category, "message": failure.message })
            }
            DialectOutput::PermissionRequest(ask) => json!({
                "ask": ask.id, "call": ask.call, "options": ask.options,
            }),
            DialectOutput::RequestWithdrawn(id) => json!({ "withdrawn": id }),
            DialectOutput::TurnEnded(end) => match &end.ending {
                TurnOutcome::Stopped(reason) => json!({ "ended": reason, "usage": end.usage }),
                TurnOutcome::Failed(failure) => json!({
                    "failed": failure.category, "message": failure.message,
                    "remedy": failure.remedy, "usage": end.usage,
                }),
            },
            DialectOutput::StdinLine(line) => json!({ "write": line }),
            DialectOutput::UnknownLine(line) => json!({ "raw": line }),
        };
        let line = line.to_string();
        let short: String = line.chars().take(600).collect();
        let _ = writeln!(text, "{short}{}", if short.len() < line.len() { "…" } else { "" });
    }
    text
}

/// Tries `name` with spoilt versions of its recordings: cut anywhere, ended anywhere, lines
/// swapped, doubled or dropped, garbage between them, and members of lines that are not what
/// they should be.
pub(super) fn survives_anything(name: DialectName, samples: Vec<Vec<u8>>) {
    let samples: Vec<Vec<u8>> = samples.into_iter().filter(|bytes| bytes.len() < 200_000).collect();
    survives_any_member(name, &samples);
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(soak::size(64, 256)));
    let substitutes = spoil::substitutes();
    let spoil = (
        0..samples.len(),
        prop::collection::vec(any::<usize>(), 0..12),
        prop::option::of(any::<usize>()),
        prop::collection::vec((any::<usize>(), any::<usize>(), 0..8u8), 0..6),
        prop::collection::vec(any::<u8>(), 0..40),
    );
    runner
        .run(&spoil, |(which, cuts, truncated, changes, garbage)| {
            let whole = &samples[which];
            let exit = CliExit::default();
            let at_once = translate(name, whole, &[], &exit);
            let in_pieces = translate(name, whole, &cuts, &exit);
            if name == DialectName::Plain {
                prop_assert_eq!(text_of(&in_pieces), text_of(&at_once));
            } else {
                prop_assert_eq!(&in_pieces, &at_once);
            }
            let mut lines: Vec<Vec<u8>> =
                whole.split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
            for (a, b, change) in changes {
                let n = b;
                let (a, b) = (a % lines.len(), b % lines.len());
                match change {
                    0 => lines.swap(a, b),
                    1 => lines[a] = lines[b].clone(),
                    2 => lines[a].clear(),
                    3 => lines[a].clone_from(&garbage),
                    4 => {
                        let half = lines[a].len() / 2;
                        lines[a].truncate(half);
                    }
                    _ => {
                        let Ok(line) = serde_json::from_slice(&lines[a]) else { continue };
                        let pointers = spoil::pointers(&line);
                        let pointer = &pointers[n % pointers.len()];
                        let substitute = substitutes.get(n / 7 % (substitutes.len() + 1));
                        lines[a] = spoil::spoilt(&line, pointer, substitute).to_string().into();
                    }
                }
            }
            let mut spoilt = lines.join(&b'\n');
            if let Some(at) = truncated {
                spoilt.truncate(at % (spoilt.len() + 1));
            }
            let said = translate(name, &spoilt, &cuts, &exit);
            check_over(name, &said);
            Ok(())
        })
        .unwrap();
}

/// Lines beyond this are not spoilt member by member: there are shorter ones like them.
const MAX_SPOILT_BYTES: usize = 12_000;

/// Every member of every kind of line, replaced by all that it should not be, where the
/// line came in its recording. Each line of the kind is followed by what followed it.
fn survives_any_member(name: DialectName, samples: &[Vec<u8>]) {
    let mut seen = spoil::Seen::default();
    let substitutes = spoil::substitutes();
    let substitutes: Vec<Option<&Value>> = substitutes.iter().map(Some).chain([None]).collect();
    for sample in samples {
        let text = String::from_utf8_lossy(sample);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, l)| l.len() < MAX_SPOILT_BYTES) {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let pointers = spoil::pointers(&value);
            let new: Vec<&String> =
                pointers.iter().filter(|pointer| seen.is_new(&value, pointer)).collect();
            if new.is_empty() {
                continue;
            }
            let before = &lines[at.saturating_sub(60)..at];
            for (substitute, is_driven) in
                substitutes.iter().flat_map(|value| [(*value, false), (*value, true)])
            {
                let (mut dialect, mut out) = (name.start(), Outputs::default());
                if is_driven {
                    dialect.open(&ConversationOptions::default(), &mut out);
                    dialect.prompt(&ComposedPrompt::default(), &mut out);
                }
                for line in before {
                    dialect.line(line, &mut out);
                }
                for pointer in &new {
                    let line = spoil::spoilt(&value, pointer, substitute).to_string();
                    dialect.line(&line, &mut out);
                }
                for line in lines[at..].iter().take(20) {
                    dialect.line(line, &mut out);
                }
                dialect.end(&CliExit::default(), &mut out);
                check_over(name, &out);
                assert!(!is_driven || turn_ends(&out) > 0, "a turn that was begun did not end");
            }
        }
    }
}
