//! The CLI's messages about the run itself: retries, warnings, compaction.

use serde_json::Value;

use super::super::Outputs;
use crate::tools;
use crate::update::{CompactionStatus, NoticeSeverity};

/// Handles one `system` line; false when its subtype is unknown.
pub(super) fn handle(line: &Value, out: &mut Outputs) -> bool {
    let text = |name: &str| line[name].as_str().unwrap_or_default();
    match text("subtype") {
        "api_retry" => api_retry(line, out),
        "informational" => {
            let severity = match text("level") {
                "warning" => NoticeSeverity::Warning,
                _ => NoticeSeverity::Info,
            };
            notice(severity, text("content"), out);
        }
        "notification" => notice(NoticeSeverity::Info, text("text"), out),
        "model_refusal_fallback" => {
            let words = match text("content") {
                "" => format!(
                    "{} refused; {} goes on",
                    text("original_model"),
                    text("fallback_model")
                ),
                words => words.to_owned(),
            };
            notice(NoticeSeverity::Warning, &words, out);
        }
        "model_refusal_no_fallback" => notice(NoticeSeverity::Warning, text("content"), out),
        "hook_response" if text("outcome") == "error" => {
            let words = format!("the hook {} failed: {}", text("hook_name"), text("stderr"));
            notice(NoticeSeverity::Warning, &words, out);
        }
        "mirror_error" | "plugin_install" if !text("error").is_empty() => {
            notice(NoticeSeverity::Warning, text("error"), out);
        }
        // A denial comes again as the result of the call; the rest is bookkeeping that no
        // client of ours shows.
        "permission_denied"
        | "thinking_tokens"
        | "hook_started"
        | "hook_progress"
        | "hook_response"
        | "task_started"
        | "task_progress"
        | "task_updated"
        | "background_tasks_changed"
        | "session_state_changed"
        | "files_persisted"
        | "memory_recall"
        | "elicitation_complete"
        | "control_request_progress"
        | "worker_shutting_down"
        | "conversation_reset"
        | "mirror_error"
        | "plugin_install"
        | "ui_invalidate" => {}
        _ => return false,
    }
    true
}

/// Emits a notice that a background task has ended.
pub(super) fn task_notification(line: &Value, out: &mut Outputs) {
    if line["skip_transcript"] != true && line["ambient"] != true {
        let severity = match line["status"].as_str() {
            Some("failed") => NoticeSeverity::Warning,
            _ => NoticeSeverity::Info,
        };
        notice(severity, line["summary"].as_str().unwrap_or_default(), out);
    }
}

pub(super) fn rate_limit(line: &Value, out: &mut Outputs) {
    let info = &line["rate_limit_info"];
    let which = info["rateLimitType"].as_str().unwrap_or("usage").replace('_', " ");
    match info["status"].as_str() {
        Some("allowed_warning") => {
            let used = info["utilization"].as_f64().map(|part| format!(" ({:.0} %)", part * 100.0));
            let used = used.unwrap_or_default();
            notice(NoticeSeverity::Warning, &format!("the {which} limit is near{used}"), out);
        }
        Some("rejected") => {
            notice(NoticeSeverity::Warning, &format!("the {which} limit is reached"), out);
        }
        _ => {}
    }
}

pub(super) fn auth_status(line: &Value, out: &mut Outputs) {
    notice(NoticeSeverity::Error, line["error"].as_str().unwrap_or_default(), out);
}

fn api_retry(line: &Value, out: &mut Outputs) {
    let number = |name: &str| line[name].as_u64();
    let title = retry_title(number("attempt"), number("max_retries"));
    let why = line["error"].as_str().filter(|error| *error != "unknown").unwrap_or("no answer");
    let status = number("error_status").map(|status| format!(", status {status}"));
    let wait = number("retry_delay_ms").map(|wait| format!(", in {wait} ms"));
    let description = [why, &status.unwrap_or_default(), &wait.unwrap_or_default()].concat();
    out.warn_with(title, Some(description));
}

fn retry_title(attempt: Option<u64>, all: Option<u64>) -> String {
    match attempt.zip(all) {
        Some((attempt, all)) => format!("asking the model again ({attempt} of {all})"),
        None => "asking the model again".to_owned(),
    }
}

/// Emits a notice of Qwen's retry, which has no reason.
pub(super) fn qwen_retry(data: &Value, out: &mut Outputs) {
    let number = |name: &str| data[name].as_u64();
    let (attempt, all) = (number("attempt"), number("maxRetries"));
    let title = match data["preserveText"] == true && attempt.zip(all).is_none() {
        true => "the model goes on with its answer".to_owned(),
        false => retry_title(attempt, all),
    };
    out.warn_with(title, number("delayMs").map(|wait| format!("in {wait} ms")));
}

pub(super) fn notice(severity: NoticeSeverity, text: &str, out: &mut Outputs) {
    let text = text.trim();
    if !text.is_empty() {
        out.update(tools::long_notice(severity, text, None));
    }
}

/// Compactions of the context; each starts and ends once.
#[derive(Debug, Default)]
pub(super) struct Compactions {
    count: u64,
    open: Option<String>,
}

impl Compactions {
    /// Handles `status` and `compact_boundary` lines.
    pub(super) fn handle(&mut self, line: &Value, out: &mut Outputs) {
        let is_boundary = line["subtype"] == "compact_boundary";
        if line["status"] == "compacting" {
            if self.open.is_none() {
                let id = self.next_id(line);
                self.open = Some(id.clone());
                out.compaction(id, CompactionStatus::InProgress, None);
            }
        } else if line["compact_result"] == "failed" {
            let error = line["compact_error"].as_str();
            if let Some(id) = self.open.take() {
                out.compaction(id, CompactionStatus::Failed, error);
            }
        } else if is_boundary {
            let id = self.open.take().unwrap_or_else(|| self.next_id(line));
            out.compaction(id, CompactionStatus::Completed, None);
        }
        // Any other status, mostly `requesting`, is a heartbeat.
    }

    /// Ends an open compaction as cancelled, since no end of it will come.
    pub(super) fn give_up(&mut self, out: &mut Outputs) {
        if let Some(id) = self.open.take() {
            out.compaction(id, CompactionStatus::Cancelled, None);
        }
    }

    fn next_id(&mut self, line: &Value) -> String {
        self.count += 1;
        let count = self.count;
        line["uuid"].as_str().map_or_else(|| format!("compaction-{count}"), str::to_owned)
    }
}
