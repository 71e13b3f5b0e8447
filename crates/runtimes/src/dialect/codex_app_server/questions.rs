//! Approval requests and questions of the server.
//!
//! In: its requests, and the user's answers. Out: questions with the options that Codex offers,
//! and the results it wants. Refusing lets the turn go on; cancelling is for turns that are to
//! stop.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::codex::items;
use super::super::{
    DialectOutput, Outputs, PermissionAnswer, PermissionOption, PermissionOptionKind,
};
use super::streams::CodexStreams;
use crate::tools;
use crate::update::{ToolCall, ToolCallContent, ToolCallStatus, ToolKind};

#[derive(Debug, Default)]
pub(super) struct CodexQuestions {
    open: Vec<OpenCodexQuestion>,
    /// Answers to the questions of one request, until all of them are there.
    forms: HashMap<String, Map<String, Value>>,
}

#[derive(Debug)]
struct OpenCodexQuestion {
    ask: String,
    /// The server's id of its request.
    request: Value,
    thread: String,
    /// The id of the question, if the request has several: the result answers all of them.
    question: Option<String>,
    replies: HashMap<String, Value>,
    rejection: Value,
    cancellation: Value,
}

/// The names of options that several kinds of questions have.
const ONCE: &str = "Allow once";
const FOR_SESSION: &str = "Allow for this session";
const REJECT: &str = "Reject";

/// An option and the result that it stands for.
type CodexOption = (PermissionOption, Value);

impl CodexQuestions {
    /// Handles a request of the server; `false` if it is no question that is supported.
    pub(super) fn handle_request(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        streams: &CodexStreams,
        out: &mut Outputs,
    ) -> bool {
        let item = params["itemId"].as_str().unwrap_or_default();
        // Older requests call it differently.
        let old_item = params["callId"].as_str().unwrap_or_default();
        let known = streams.open_call(&params["itemId"]).cloned();
        let decided = |decision: &str| json!({ "decision": decision });
        match method {
            "item/commandExecution/requestApproval" => {
                let call = known.unwrap_or_else(|| items::asked_command(item, params));
                let call = about_network(call, &params["networkApprovalContext"]);
                let choices = decisions(&params["availableDecisions"]);
                self.ask(id, params, call, choices, decided("cancel"), out);
            }
            "item/fileChange/requestApproval" => {
                let call = known.unwrap_or_else(|| items::changed(item, &json!([])));
                let choices = decisions(&Value::Null);
                self.ask(id, params, call, choices, decided("cancel"), out);
            }
            "execCommandApproval" => {
                let call = items::asked_command(old_item, params);
                self.ask(id, params, call, old_decisions(), decided("abort"), out);
            }
            "applyPatchApproval" => {
                let call = items::asked_changes(old_item, &params["fileChanges"]);
                self.ask(id, params, call, old_decisions(), decided("abort"), out);
            }
            "item/permissions/requestApproval" => {
                let call = known.unwrap_or_else(|| permissions_call(item, params));
                let none = json!({ "permissions": {}, "scope": "turn" });
                self.ask(id, params, call, grants(&params["permissions"]), none, out);
            }
            "mcpServer/elicitation/request" => self.elicited(id, params, streams, out),
            "item/tool/requestUserInput" => self.questions(id, params, known, out),
            _ => return false,
        }
        true
    }

    /// Answers the server, if it (still) waits for an answer.
    pub(super) fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        let Some(at) = self.open.iter().position(|open| open.ask == ask) else { return };
        let open = self.open.remove(at);
        let reply = match answer {
            PermissionAnswer::Chosen(option) => open.replies.get(option).unwrap_or(&open.rejection),
            PermissionAnswer::Cancelled => &open.cancellation,
        };
        self.reply(&open, reply.clone(), out);
    }

    /// Withdraws a question whose answer the server has, or no longer wants.
    pub(super) fn resolved(&mut self, request: &Value, out: &mut Outputs) {
        self.forms.remove(&request.to_string());
        for open in self.open.extract_if(.., |open| open.request == *request) {
            out.push(DialectOutput::RequestWithdrawn(open.ask));
        }
    }

    /// Withdraws all questions, since the turn is over. The server does the same for `thread`;
    /// those of other threads, which may still run, are refused.
    pub(super) fn withdraw_all(&mut self, thread: Option<&str>, out: &mut Outputs) {
        for open in std::mem::take(&mut self.open) {
            out.push(DialectOutput::RequestWithdrawn(open.ask.clone()));
            if thread.is_some_and(|ours| ours != open.thread) {
                self.reply(&open, open.rejection.clone(), out);
            }
        }
        self.forms.clear();
    }

    fn reply(&mut self, open: &OpenCodexQuestion, mut result: Value, out: &mut Outputs) {
        let request = &open.request;
        if let Some(question) = &open.question {
            let form = self.forms.entry(request.to_string()).or_default();
            form.insert(question.clone(), result);
            if self.open.iter().any(|open| open.request == *request) {
                return;
            }
            result = json!({ "answers": self.forms.remove(&request.to_string()) });
        }
        out.write(&json!({ "id": request, "result": result }));
    }

    fn ask(
        &mut self,
        id: &Value,
        params: &Value,
        mut call: ToolCall,
        choices: Vec<CodexOption>,
        cancellation: Value,
        out: &mut Outputs,
    ) {
        if let Some(reason) = params["reason"].as_str().filter(|reason| !reason.is_empty()) {
            call.content.get_or_insert_default().push(ToolCallContent::text(reason));
        }
        let (mut options, mut replies) = (Vec::new(), HashMap::new());
        let mut rejection = cancellation.clone();
        for (mut option, result) in choices {
            if option.kind == PermissionOptionKind::RejectOnce {
                rejection = result.clone();
            }
            // The same decision may be offered for several things.
            let is_same = |known: &&PermissionOption| {
                let rest = known.option_id.strip_prefix(option.option_id.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            };
            let n_same = options.iter().filter(is_same).count();
            if n_same > 0 {
                option.option_id = format!("{}-{n_same}", option.option_id);
            }
            replies.insert(option.option_id.clone(), result);
            options.push(option);
        }
        let open = OpenCodexQuestion {
            ask: id.to_string(),
            request: id.clone(),
            thread: params["threadId"].as_str().unwrap_or_default().to_owned(),
            question: None,
            replies,
            rejection,
            cancellation,
        };
        self.put(open, call, options, out);
    }

    fn put(
        &mut self,
        open: OpenCodexQuestion,
        call: ToolCall,
        options: Vec<PermissionOption>,
        out: &mut Outputs,
    ) {
        let call = ToolCall { status: Some(ToolCallStatus::Pending), ..call };
        out.ask(open.ask.clone(), call, options);
        self.open.push(open);
    }

    /// An elicitation of an MCP server. Codex also asks in this way whether it may call a tool. A
    /// form with fields does not fit a permission request and is declined.
    fn elicited(&mut self, id: &Value, params: &Value, streams: &CodexStreams, out: &mut Outputs) {
        let fields = &params["requestedSchema"]["properties"];
        let is_question =
            params["mode"] == "form" && fields.as_object().is_none_or(serde_json::Map::is_empty);
        if !is_question {
            let line = json!({ "id": id, "result": { "action": "decline" } });
            return out.write(&line);
        }
        let (server, about) = (params["serverName"].as_str().unwrap_or_default(), &params["_meta"]);
        let is_call = about["codex_approval_kind"] == "mcp_tool_call";
        let known = streams.open_call_of(server).filter(|_| is_call).cloned();
        let message = params["message"].as_str().unwrap_or_default();
        let call = known.unwrap_or_else(|| ToolCall {
            id: format!("elicitation-{id}"),
            raw_input: Some(about["tool_params"].clone()),
            ..ToolCall::of(ToolKind::Other, server, tools::one_line(message))
        });
        let accept = |persist: Option<&str>| match persist {
            Some(how) => json!({ "action": "accept", "content": {}, "_meta": { "persist": how } }),
            None => json!({ "action": "accept", "content": {} }),
        };
        let mut choices: Vec<CodexOption> =
            vec![(PermissionOption::allow_once("accept", ONCE), accept(None))];
        let offers = |how: &str| {
            about["persist"].as_array().is_some_and(|all| all.iter().any(|one| one == how))
                || about["persist"] == how
        };
        let persisting = [
            ("session", "acceptForSession", FOR_SESSION),
            ("always", "acceptAlways", "Always allow"),
        ];
        for (how, option, name) in persisting.into_iter().filter(|(how, ..)| offers(how)) {
            choices.push((PermissionOption::allow_always(option, name), accept(Some(how))));
        }
        let decline = json!({ "action": "decline" });
        choices.push((PermissionOption::reject_once("decline", REJECT), decline));
        self.ask(id, params, call, choices, json!({ "action": "cancel" }), out);
    }

    /// Questions of the model, each with choices. One without is left unanswered: a permission
    /// request cannot ask for a text.
    fn questions(
        &mut self,
        id: &Value,
        params: &Value,
        known: Option<ToolCall>,
        out: &mut Outputs,
    ) {
        let questions = params["questions"].as_array().map_or(&[][..], Vec::as_slice);
        let thread = params["threadId"].as_str().unwrap_or_default();
        for (n, question) in questions.iter().enumerate() {
            let answers = |answers: &[&str]| json!({ "answers": answers });
            let (mut options, mut replies) = (Vec::new(), HashMap::new());
            for (n, choice) in question["options"].as_array().into_iter().flatten().enumerate() {
                let Some(label) = choice["label"].as_str() else { continue };
                let option_id = format!("choice-{n}");
                replies.insert(option_id.clone(), answers(&[label]));
                options.push(PermissionOption::allow_once(option_id, label));
            }
            if options.is_empty() {
                continue;
            }
            options.push(PermissionOption::reject_once("skip", "Skip"));
            let open = OpenCodexQuestion {
                ask: format!("{id}.{n}"),
                request: id.clone(),
                thread: thread.to_owned(),
                question: Some(question["id"].as_str().unwrap_or_default().to_owned()),
                replies,
                rejection: answers(&[]),
                cancellation: answers(&[]),
            };
            let text = question["question"].as_str().unwrap_or_default();
            let call = known.clone().unwrap_or_else(|| ToolCall {
                id: params["itemId"].as_str().unwrap_or_default().to_owned(),
                name: Some("request_user_input".to_owned()),
                kind: Some(ToolKind::Think),
                ..ToolCall::default()
            });
            let title = Some(tools::one_line(text));
            let call = ToolCall { title, raw_input: Some(question.clone()), ..call };
            self.put(open, call, options, out);
        }
        if !self.open.iter().any(|open| open.request == *id) {
            let line = json!({ "id": id, "result": { "answers": {} } });
            out.write(&line);
        }
    }
}

/// The options that Codex offers, and a refusal, which it takes even where it does not offer one.
fn decisions(offered: &Value) -> Vec<CodexOption> {
    let usual = [json!("accept"), json!("acceptForSession")];
    let offered = offered.as_array().map_or(&usual[..], Vec::as_slice);
    let mut choices: Vec<CodexOption> = offered.iter().filter_map(decision).collect();
    if !choices.iter().any(|(option, _)| option.kind == PermissionOptionKind::RejectOnce) {
        choices.extend(decision(&json!("decline")));
    }
    choices
}

fn decision(decision: &Value) -> Option<CodexOption> {
    let option = match decision.as_str() {
        Some("accept") => PermissionOption::allow_once("accept", ONCE),
        Some("acceptForSession") => PermissionOption::allow_always("acceptForSession", FOR_SESSION),
        Some("decline") => PermissionOption::reject_once("decline", REJECT),
        Some(_) => return None,
        None => {
            let rule = &decision["acceptWithExecpolicyAmendment"]["execpolicy_amendment"];
            let host = &decision["applyNetworkPolicyAmendment"]["network_policy_amendment"];
            if let Some(words) = rule.as_array() {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                let name = tools::one_line(&format!("Always allow `{}`", words.join(" ")));
                PermissionOption::allow_always("acceptWithRule", name)
            } else {
                let name = host["host"].as_str()?;
                match host["action"] == "deny" {
                    true => PermissionOption::new(
                        "denyHost",
                        format!("Never allow {name}"),
                        PermissionOptionKind::RejectAlways,
                    ),
                    false => {
                        PermissionOption::allow_always("allowHost", format!("Always allow {name}"))
                    }
                }
            }
        }
    };
    Some((option, json!({ "decision": decision })))
}

fn old_decisions() -> Vec<CodexOption> {
    let denied = json!({ "denied": { "rejection": "rejected by the user" } });
    let session = "approved_for_session";
    vec![
        (PermissionOption::allow_once("approved", ONCE), json!({ "decision": "approved" })),
        (PermissionOption::allow_always(session, FOR_SESSION), json!({ "decision": session })),
        (PermissionOption::reject_once("denied", REJECT), json!({ "decision": denied })),
    ]
}

fn grants(wanted: &Value) -> Vec<CodexOption> {
    let grant = |scope: &str| json!({ "permissions": wanted, "scope": scope });
    let none = json!({ "permissions": {}, "scope": "turn" });
    vec![
        (PermissionOption::allow_once("turn", "Allow for this turn"), grant("turn")),
        (PermissionOption::allow_always("session", FOR_SESSION), grant("session")),
        (PermissionOption::reject_once("none", REJECT), none),
    ]
}

fn permissions_call(item: &str, params: &Value) -> ToolCall {
    let reason = params["reason"].as_str().unwrap_or("more permissions");
    let title = tools::one_line(&format!("Permissions: {reason}"));
    ToolCall {
        id: item.to_owned(),
        raw_input: Some(json!({ "permissions": params["permissions"], "cwd": params["cwd"] })),
        ..ToolCall::of(ToolKind::Other, "request_permissions", title)
    }
}

/// The call of a question about a network connection and not about the command itself.
fn about_network(call: ToolCall, network: &Value) -> ToolCall {
    match network["host"].as_str() {
        Some(host) => ToolCall { title: Some(format!("Connect to {host}")), ..call },
        None => call,
    }
}
