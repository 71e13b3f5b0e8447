//! The model's answers, by the name of a scenario.
//!
//! In: what was asked. Out: one reply, with its pace and where it breaks, or an HTTP status.
//! The same question always gets the same answer; only `…-once` remembers that it was asked.

use super::request::ScenarioRequest;
use super::tools::ToolAction;
use std::time::Duration;

/// The text of the scenario `text`.
pub const GREETING: &[&str] = &["Hello", ", ", "this is ", "the model ", "speaking."];
/// The content that `write` puts into a file.
pub const CONTENT: &str = "hello from the model\n";
/// The output of `shell`; the command line itself does not contain it.
pub const SHELL_SAYS: &str = "shell-42";
/// The thought of the model in `think`.
pub const THOUGHT: &[&str] = &["First I ", "consider ", "the question. ", "Then I answer."];

// Long enough to be cancelled in, whatever the agent does first.
const SLOW_TICKS: usize = 1200;
const SLOW_PACE: Duration = Duration::from_millis(100);
// Streams do not arrive in one piece in the real world either.
const USUAL_PACE: Duration = Duration::from_millis(2);
const LONG_WORDS: usize = 12_000;

#[derive(Debug, Clone)]
pub enum ScenarioAnswer {
    Reply(Reply),
    Status { code: u16, retry_after: Option<u64> },
}

#[derive(Debug, Clone)]
pub struct Reply {
    pub parts: Vec<ReplyPart>,
    /// The model was stopped by its limit, not by itself.
    pub is_cut_short: bool,
    pub pace: Duration,
    pub fault: Option<StreamFault>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyPart {
    Text(Vec<String>),
    Thought(Vec<String>),
    Call(ToolAction),
}

/// Where a stream breaks: after so many pieces of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StreamFault {
    pub after: usize,
    pub how: FaultKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The connection is dropped.
    Cut,
    /// Nothing comes any more.
    Hang,
    /// An error in the middle of the stream.
    Error,
}

impl Reply {
    pub fn of(parts: Vec<ReplyPart>) -> Self {
        Self { parts, is_cut_short: false, pace: USUAL_PACE, fault: None }
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::of(vec![ReplyPart::Text(vec![text.into()])])
    }
}

/// `n_seen` counts how often this very marker was answered before.
pub fn answer(asked: &ScenarioRequest, n_seen: usize) -> ScenarioAnswer {
    let marker = &asked.marker;
    if let Some((code, times)) = status(&marker.scenario) {
        let retry_after = marker.number("retry");
        return match n_seen < times {
            true => ScenarioAnswer::Status { code, retry_after },
            false => ScenarioAnswer::Reply(Reply::text(format!("Recovered after {code}."))),
        };
    }
    let mut rounds = rounds(asked);
    let last = rounds.len().saturating_sub(1);
    let mut reply = rounds.swap_remove(asked.round.min(last));
    if let Some(pace) = marker.number("pace") {
        reply.pace = Duration::from_millis(pace);
    }
    ScenarioAnswer::Reply(reply)
}

/// `http429` for ever, `http429-once` the first time.
fn status(scenario: &str) -> Option<(u16, usize)> {
    let code = scenario.strip_prefix("http")?;
    match code.strip_suffix("-once") {
        Some(code) => Some((code.parse().ok()?, 1)),
        None => Some((code.parse().ok()?, usize::MAX)),
    }
}

/// One reply for each round of the tool loop; the last one repeats.
fn rounds(asked: &ScenarioRequest) -> Vec<Reply> {
    let marker = &asked.marker;
    let path = marker.get("path").unwrap_or("note.txt").to_owned();
    let after = usize::try_from(marker.number("at").unwrap_or(2)).unwrap_or(2);
    let write = || ToolAction::Write { path: path.clone(), content: CONTENT.to_owned() };
    let read = || ToolAction::Read { path: path.clone() };
    let shell = |command: &str| ToolAction::Shell { command: command.to_owned() };
    let say = |pieces: &[&str]| vec![text(pieces)];
    let act = |deed: ToolAction, then: &[&str]| vec![vec![ReplyPart::Call(deed)], say(then)];
    let parts: Vec<Vec<ReplyPart>> = match marker.scenario.as_str() {
        "text" => vec![say(GREETING)],
        "think" => vec![vec![thought(THOUGHT), text(&["The answer", " is ", "42."])]],
        "write" => vec![
            vec![text(&["I will ", "write the file."]), ReplyPart::Call(write())],
            say(&["That was ", "the file."]),
        ],
        "read" => act(read(), &["I have ", "read it."]),
        "edit" => vec![
            vec![ReplyPart::Call(read())],
            vec![ReplyPart::Call(ToolAction::Edit {
                path,
                old: "hello".into(),
                new: "goodbye".into(),
            })],
            say(&["That was ", "the edit."]),
        ],
        "shell" => act(shell("printf shell-%s 42"), &["That was ", "the command."]),
        "shell-fail" => act(shell("echo before; exit 3"), &["The command ", "failed."]),
        "shell-sleep" => act(shell("echo started; sleep 300"), &["It slept."]),
        "shell-write" => {
            act(shell(&format!("echo hello from the model > {path}")), &["That was ", "the file."])
        }
        "two-tools" => vec![
            vec![
                text(&["Two calls."]),
                ReplyPart::Call(write()),
                ReplyPart::Call(shell("echo parallel")),
            ],
            say(&["Both ", "are done."]),
        ],
        "think-tool" => vec![
            vec![thought(&["I need ", "a tool."]), ReplyPart::Call(shell("echo hi"))],
            vec![thought(&["It ", "worked."]), text(&["Done."])],
        ],
        "plan" => act(ToolAction::Plan, &["The plan ", "stands."]),
        "bad-tool" => act(ToolAction::Unknown, &["There is no ", "such tool."]),
        "bad-args" => act(ToolAction::Misfit, &["Those arguments ", "were wrong."]),
        "unicode" => vec![say(&["café ", "😀", " \u{2028} ", "tab\tquote\" ", "日本語"])],
        "long" => vec![long()],
        "empty" => vec![vec![]],
        "slow" => return vec![slow()],
        "recall" => vec![vec![ReplyPart::Text(vec![
            "I see ".into(),
            format!("{} prompts; ", asked.n_prompts),
            format!("the first was {}", asked.first),
        ])]],
        "max-tokens" => {
            return vec![Reply { is_cut_short: true, ..Reply::of(say(&["This was cut"])) }];
        }
        "hang" => return vec![faulty(after, FaultKind::Hang)],
        "cut" => return vec![faulty(after, FaultKind::Cut)],
        "stream-error" => return vec![faulty(after, FaultKind::Error)],
        _ => vec![say(&["ok"])],
    };
    parts.into_iter().map(Reply::of).collect()
}

fn faulty(after: usize, how: FaultKind) -> Reply {
    Reply { fault: Some(StreamFault { after, how }), ..Reply::of(vec![text(GREETING)]) }
}

fn slow() -> Reply {
    let ticks = (0..SLOW_TICKS).map(|n| format!("tick {n:04}\n")).collect();
    Reply { pace: SLOW_PACE, ..Reply::of(vec![ReplyPart::Text(ticks)]) }
}

fn long() -> Vec<ReplyPart> {
    let words: Vec<String> = (0..LONG_WORDS).map(|n| format!("word{n:05} ")).collect();
    let (first, second) = words.split_at(LONG_WORDS / 2);
    vec![ReplyPart::Text(vec![first.concat(), second.concat(), "end".to_owned()])]
}

fn text(pieces: &[&str]) -> ReplyPart {
    ReplyPart::Text(pieces.iter().map(|piece| (*piece).to_owned()).collect())
}

fn thought(pieces: &[&str]) -> ReplyPart {
    ReplyPart::Thought(pieces.iter().map(|piece| (*piece).to_owned()).collect())
}
