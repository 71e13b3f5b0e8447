//! Decides whether a tool call may run.
//!
//! In: what a call needs, the session's mode, and what a person said before. Out: yes, or no
//! with a sentence for the model. One question at a time is put to a person.

use std::collections::HashSet;
use std::sync::Mutex;

use serde_json::{Value, json};

use super::client::AcpClient;
use super::excerpt;
use super::lock;
use super::options::ApprovalMode;
use super::tool_call::{CallNeed, ToolKind};

const ONCE: &str = "once";
const ALWAYS: &str = "always";
const REJECT: &str = "reject";
/// Beginning of keys that no mode and no *always* for something wider covers.
const PROTECTED: &str = "edit:protected:";
/// Most keys that a person allowed for good in one session; others are asked about again.
const MAX_ALWAYS: usize = 1000;

#[derive(Debug, Default)]
pub(super) struct Gate {
    always: Mutex<HashSet<String>>,
    asking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GateVerdict {
    Run,
    /// The reason, for the model.
    Refused(String),
    /// The turn is being cancelled.
    Cancelled,
}

impl Gate {
    /// Decides; asks the client where nobody has decided yet.
    pub(super) async fn pass(
        &self,
        need: &CallNeed,
        kind: ToolKind,
        mode: ApprovalMode,
        client: &AcpClient,
        tool_call: &Value,
    ) -> GateVerdict {
        let CallNeed::Permission { key } = need else { return GateVerdict::Run };
        if let Some(verdict) = self.decided(key, kind, mode) {
            return unless_denied(verdict, kind, client).await;
        }
        let _alone = self.asking.lock().await;
        // Somebody may have said *always* to the question before.
        if let Some(verdict) = self.decided(key, kind, mode) {
            return unless_denied(verdict, kind, client).await;
        }
        match client.ask(tool_call.clone(), options(key)).await {
            Ok(Some(option)) if option == ONCE => GateVerdict::Run,
            Ok(Some(option)) if option == ALWAYS && !key.starts_with(PROTECTED) => {
                self.remember(key);
                GateVerdict::Run
            }
            Ok(None) => GateVerdict::Cancelled,
            Ok(Some(_)) => GateVerdict::Refused(
                "This call was rejected, by the user or by a rule. Do not try it again in the same \
                 way; ask what to do instead, or go on without it."
                    .to_owned(),
            ),
            Err(error) => GateVerdict::Refused(format!(
                "Nobody could be asked to allow this call ({error}), so it did not run."
            )),
        }
    }

    fn decided(&self, key: &str, kind: ToolKind, mode: ApprovalMode) -> Option<GateVerdict> {
        if mode == ApprovalMode::Plan {
            return Some(GateVerdict::Refused(
                "The session is in plan mode: nothing may be changed, run or fetched. \
                 Finish the plan and let the user switch the mode."
                    .to_owned(),
            ));
        }
        let is_protected = key.starts_with(PROTECTED);
        let by_mode = match mode {
            ApprovalMode::Auto => true,
            ApprovalMode::Code => kind == ToolKind::Edit,
            ApprovalMode::Ask | ApprovalMode::Plan => false,
        };
        let is_allowed = (by_mode && !is_protected) || lock(&self.always).contains(key);
        is_allowed.then_some(GateVerdict::Run)
    }

    fn remember(&self, key: &str) {
        let mut always = lock(&self.always);
        if always.len() < MAX_ALWAYS {
            always.insert(key.to_owned());
        }
    }
}

/// Asks the client whether a rule denies what needs no question. Files and commands are asked about
/// where they are touched, by name.
async fn unless_denied(verdict: GateVerdict, kind: ToolKind, client: &AcpClient) -> GateVerdict {
    let is_asked_later =
        matches!(kind, ToolKind::Edit | ToolKind::Delete | ToolKind::Move | ToolKind::Execute);
    if verdict != GateVerdict::Run || is_asked_later {
        return verdict;
    }
    match client.denial(json!({ "kind": kind })).await {
        Ok(None) => GateVerdict::Run,
        Ok(Some(why)) => GateVerdict::Refused(format!("This may not be done: {why}.")),
        Err(error) => GateVerdict::Refused(format!(
            "The client could not be asked whether this may be done ({error}), so it did not run."
        )),
    }
}

/// The options of a question. What *always* means is said in words: it differs from call to call.
/// In protected places every change is a question of its own.
fn options(key: &str) -> Value {
    let once = json!({ "optionId": ONCE, "name": "Allow once", "kind": "allow_once" });
    let reject = json!({ "optionId": REJECT, "name": "Reject", "kind": "reject_once" });
    if key.starts_with(PROTECTED) {
        return json!([once, reject]);
    }
    let what = match key.split_once(':') {
        None if key == "edit" => "edits".to_owned(),
        Some(("execute", command)) => format!("`{}`", short(command)),
        Some(("fetch", host)) => format!("pages of {}", short(host)),
        Some(("mcp", tool)) => short(tool),
        _ => "this".to_owned(),
    };
    let name = format!("Always allow {what} in this session");
    json!([once, { "optionId": ALWAYS, "name": name, "kind": "allow_always" }, reject])
}

fn short(text: &str) -> String {
    const LONGEST: usize = 80;
    excerpt::head(&text.replace(char::is_control, " "), LONGEST)
}

#[cfg(test)]
mod tests;
