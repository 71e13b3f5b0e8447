//! Notices shown beside the conversation, in words: about the agent's process, the session, and
//! what people did to it. The same words in every view that people read.

use serde::Serialize;
use utoipa::ToSchema;
use wire::OwnEvent;
use wire::event::{
    AgentQuiet, CancelRung, CancelStep, DropReason, LimitRaised, LogRecovered, OptionSet,
    ResumeProof, ResumeWay, SessionCreated, SessionResumed, TerminalExited, WorkerExited,
};

use crate::json::{JsonNode, JsonObject};
use crate::usage::limit_words;

/// A remark of one line beside the conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub tone: NoticeTone,
    pub level: NoticeLevel,
    pub text: String,
    /// The person or client that did it, as the log names them.
    pub by: Option<String>,
    /// Long or technical details, unchanged: stderr, parameters.
    pub more: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeTone {
    #[default]
    Info,
    Warning,
    Error,
}

/// The importance of a notice: which readers get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeLevel {
    /// For finding the cause of something.
    Trace,
    /// For readers who want to know all that was done.
    Detail,
    /// For readers who follow a session, and not for those who only wait for an answer.
    Remark,
    /// For everybody.
    Prominent,
}

impl Notice {
    fn prominent(tone: NoticeTone, text: impl Into<String>) -> Self {
        Self { tone, level: NoticeLevel::Prominent, text: text.into(), by: None, more: None }
    }

    fn remark(text: impl Into<String>) -> Self {
        Self { level: NoticeLevel::Remark, ..Self::prominent(NoticeTone::Info, text) }
    }

    fn trace(text: impl Into<String>) -> Self {
        Self { level: NoticeLevel::Trace, ..Self::prominent(NoticeTone::Info, text) }
    }

    fn detail(text: impl Into<String>) -> Self {
        Self { level: NoticeLevel::Detail, ..Self::prominent(NoticeTone::Info, text) }
    }

    /// The notice for an event of Switchyard itself. `is_running`: a turn runs.
    pub(crate) fn of_own(own: &OwnEvent<'_>, is_running: bool) -> Option<Self> {
        Some(match own {
            OwnEvent::SessionCreated(created) => created_words(created),
            OwnEvent::SessionResumed(resumed) => resumed_words(resumed),
            OwnEvent::SessionClosed(_) => {
                Self::remark("the session was closed; a prompt opens it again")
            }
            OwnEvent::CancelRequested(requested) => {
                let by = Some(requested.by.clone()).filter(|by| !by.is_empty());
                Self { by, ..Self::prominent(NoticeTone::Info, "cancel requested") }
            }
            OwnEvent::CancelStep(CancelStep { step }) => step_words(*step)?,
            OwnEvent::LimitReached(reached) => {
                let frozen =
                    if reached.frozen { " and the agent is stopped meanwhile" } else { "" };
                let told = format!("{}; the session pauses{frozen}", limit_words(reached));
                Self { tone: NoticeTone::Warning, ..Self::detail(told) }
            }
            OwnEvent::LimitRaised(LimitRaised { limit, by, .. }) => {
                let by = crate::question::decider_phrase(by);
                Self::remark(format!("goes on: the limit of {} was raised{by}", limit.as_str()))
            }
            OwnEvent::WorkerStarted(started) => {
                Self::trace(format!("the agent's process is {}", started.pid))
            }
            OwnEvent::WorkerExited(exited) => exit_words(exited, is_running),
            OwnEvent::AgentQuiet(AgentQuiet { quiet_ms, waiting_for }) => {
                let waiting = waiting_for.as_ref().map_or_else(String::new, |w| format!(" ({w})"));
                let told = format!("no sign of progress for {}{waiting}", duration(*quiet_ms));
                Self::prominent(NoticeTone::Info, told)
            }
            OwnEvent::AgentStderr(stderr) => Self::detail(format!("stderr: {}", stderr.text)),
            OwnEvent::AgentNotification(told) => {
                Self::detail(format!("message of the agent: {}", told.method))
            }
            OwnEvent::OptionSet(set) => {
                let by = set.by.clone().filter(|by| !by.is_empty());
                Self { by, ..Self::detail(option_words(set)) }
            }
            OwnEvent::PromptDropped(dropped) => {
                let why = match dropped.reason {
                    DropReason::Cancelled => "the turn was cancelled",
                    DropReason::Dropped => "taken back",
                    DropReason::Limit => "a limit is reached",
                    DropReason::Interrupted => "the session was interrupted",
                    DropReason::Unknown => "dropped",
                };
                Self::prominent(
                    NoticeTone::Warning,
                    format!("a prompt that waited was not sent ({why})"),
                )
            }
            OwnEvent::TerminalExited(TerminalExited { lost: true, .. }) => {
                let told = "a command was lost when Switchyard was killed";
                Self::prominent(NoticeTone::Warning, told)
            }
            OwnEvent::LogRecovered(LogRecovered { lost_from, lost_to }) => {
                let lost = format!("events {lost_from} to {lost_to} are missing");
                Self::prominent(
                    NoticeTone::Error,
                    format!("part of this session's log was lost: {lost}"),
                )
            }
            _ => return None,
        })
    }

    /// The notice for an update of the agent that is neither text nor a tool call.
    pub(crate) fn of_update(name: &str, update: &JsonObject<'_>) -> Option<Self> {
        let word = |key: &str| update.non_blank_text(key).unwrap_or_default();
        Some(match name {
            "notice" => return agent_words(update),
            "compaction_update" => match &*word("status") {
                "completed" => {
                    Self::prominent(NoticeTone::Info, "the conversation so far is now a summary")
                }
                "failed" => Self::prominent(
                    NoticeTone::Warning,
                    "the conversation so far could not be summarised",
                ),
                _ => return None,
            },
            "session_info_update" => {
                Self::trace(format!("title: {}", update.non_blank_text("title")?))
            }
            "current_mode_update" => Self::trace(format!("mode: {}", word("currentModeId"))),
            // Long lists of what could be done, of no use in a transcript, and what is told with
            // the end of the turn.
            "available_commands_update"
            | "config_option_update"
            | "usage_update"
            | "compaction_summary_chunk" => return None,
            name => Self::detail(format!("update of the agent: {name}")),
        })
    }
}

fn created_words(created: &SessionCreated) -> Notice {
    let SessionCreated { agent, cwd, forked_from, .. } = created;
    match forked_from {
        Some(from) => Notice::remark(format!("forked from {from}")),
        None => Notice::detail(format!("session with {agent} in {cwd}")),
    }
}

fn resumed_words(resumed: &SessionResumed) -> Notice {
    let SessionResumed { how, verified, changed, tried, .. } = resumed;
    let (level, told) = match (how, verified) {
        (ResumeWay::Reseed, _) => {
            (NoticeLevel::Prominent, "the agent was told the conversation again")
        }
        (ResumeWay::New, _) => {
            (NoticeLevel::Prominent, "the agent starts without memory of this session")
        }
        (_, ResumeProof::Unchecked | ResumeProof::Unknown) => (
            NoticeLevel::Prominent,
            "the agent resumed the session, but could not prove that it remembers it",
        ),
        _ if changed.is_empty() => (NoticeLevel::Trace, "the agent resumed the session"),
        _ => (NoticeLevel::Prominent, "the agent resumed the session"),
    };
    let details = changed.iter().chain(tried).map(String::as_str).collect::<Vec<_>>();
    let colon = if details.is_empty() { "" } else { ": " };
    let tone = if *how == ResumeWay::New { NoticeTone::Warning } else { NoticeTone::Info };
    let text = format!("{told}{colon}{}", details.join("; "));
    Notice { level, ..Notice::prominent(tone, text) }
}

fn step_words(step: CancelRung) -> Option<Notice> {
    let warn = |text: &str| Notice::prominent(NoticeTone::Warning, text);
    Some(match step {
        CancelRung::Terminate => warn("the agent did not stop when asked; ending it"),
        CancelRung::Kill => warn("the agent did not end; killing it"),
        CancelRung::Notified => Notice::trace("cancel: the agent was asked to stop"),
        CancelRung::PermissionsCancelled => Notice::trace("cancel: open questions were withdrawn"),
        CancelRung::Eof => Notice::trace("cancel: the agent's input was closed"),
        CancelRung::Unknown => return None,
    })
}

fn exit_words(exited: &WorkerExited, is_running: bool) -> Notice {
    let is_clean = exited.signal.is_none() && exited.code.is_none_or(|code| code == 0);
    // The end of a process that we stopped ourselves after its last turn interests nobody.
    let is_expected = (is_clean || exited.stopped) && !is_running;
    let how = match (exited.signal, exited.code) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "exited".to_owned(),
    };
    Notice {
        tone: if is_clean { NoticeTone::Info } else { NoticeTone::Error },
        level: if is_expected { NoticeLevel::Trace } else { NoticeLevel::Prominent },
        text: format!("the agent's process {how}"),
        by: None,
        more: Some(exited.stderr.trim_end().to_owned()).filter(|stderr| !stderr.is_empty()),
    }
}

/// An agent's own notice.
fn agent_words(update: &JsonObject<'_>) -> Option<Notice> {
    let (title, description) =
        (update.non_blank_text("title"), update.non_blank_text("description"));
    // A title that is only the beginning of the description is left out.
    let is_said = |title: &str| {
        let beginning = title.trim_end_matches('…');
        description.as_deref().is_some_and(|text| text.starts_with(beginning))
    };
    let title = title.filter(|title| !is_said(title));
    let text = [title, description].into_iter().flatten().collect::<Vec<_>>().join(": ");
    let tone = match update.text("severity").as_deref() {
        Some("error") => NoticeTone::Error,
        Some("warning") => NoticeTone::Warning,
        _ => NoticeTone::Info,
    };
    (!text.is_empty()).then(|| Notice::prominent(tone, text))
}

/// `mode: plan`, `model: large`, `option: effort high`.
fn option_words(set: &OptionSet<'_>) -> String {
    let params = JsonNode::of(set.params).object();
    let word = |key| params.label(key).unwrap_or_default();
    match set.method.as_str() {
        "session/set_mode" => format!("mode: {}", word("modeId")),
        "session/set_model" => format!("model: {}", word("modelId")),
        "_switchyard/set_limits" => {
            let limits = params.get("limits").map_or("none", JsonNode::raw);
            format!("limits: {limits}")
        }
        _ => format!("option: {} {}", word("configId"), word("value")),
    }
}

/// `850 ms`, `3.7 s`, `2 min 5 s`.
pub(crate) fn duration(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}
