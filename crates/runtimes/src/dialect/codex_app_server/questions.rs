//! Approval requests and questions of the server.
//!
//! In: its requests, and the user's answers. Out: questions with the options that Codex offers,
//! and the results it wants. Refusing lets the turn go on; cancelling is for turns that are to
//! stop.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::super::codex::items;
use super::super::{
    DialectOutput, PermissionAnswer, PermissionOption, PermissionOptionKind, PermissionRequest,
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
    replies: HashMap<String, CodexReply>,
    rejection: CodexReply,
    cancellation: CodexReply,
}

#[derive(Debug, Clone)]
enum CodexReply {
    Result(Value),
    /// The answer to one question of several.
    Part {
        question: String,
        answers: Vec<String>,
    },
}

/// An option (kind, id, name) and the result that it stands for.
type CodexOption = (PermissionOptionKind, &'static str, String, Value);

impl CodexQuestions {
    /// Handles a request of the server; `false` if it is no question that is supported.
    pub(super) fn handle_request(
        &mut self,
        method: &str,
        id: &Value,
        params: &Value,
        streams: &CodexStreams,
        out: &mut Vec<DialectOutput>,
    ) -> bool {
        let item = params["itemId"].as_str().unwrap_or_default();
        let known = streams.open_call(&params["itemId"]).cloned();
        let decided = |decision: &Value| json!({ "decision": decision });
        match method {
            "item/commandExecution/requestApproval" => {
                let call = known.unwrap_or_else(|| items::asked_command(item, params));
                let call = about_network(call, &params["networkApprovalContext"]);
                let choices = decisions(&params["availableDecisions"]);
                self.ask(id, params, call, choices, decided(&json!("cancel")), out);
            }
            "item/fileChange/requestApproval" => {
                let call = known.unwrap_or_else(|| items::changed(item, &json!([])));
                let choices = decisions(&Value::Null);
                self.ask(id, params, call, choices, decided(&json!("cancel")), out);
            }
            "execCommandApproval" => {
                let call = items::asked_command(old_call(params), params);
                self.ask(id, params, call, old_decisions(), decided(&json!("abort")), out);
            }
            "applyPatchApproval" => {
                let call = items::asked_changes(old_call(params), &params["fileChanges"]);
                self.ask(id, params, call, old_decisions(), decided(&json!("abort")), out);
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

    /// The line that answers the server; `None` if it does not wait for an answer (any more).
    pub(super) fn answer(&mut self, ask: &str, answer: &PermissionAnswer) -> Option<String> {
        let at = self.open.iter().position(|open| open.ask == ask)?;
        let open = self.open.remove(at);
        let reply = match answer {
            PermissionAnswer::Chosen(option) => open.replies.get(option).unwrap_or(&open.rejection),
            PermissionAnswer::Cancelled => &open.cancellation,
        };
        self.reply(&open.request, reply.clone())
    }

    /// Withdraws a question whose answer the server has, or no longer wants.
    pub(super) fn resolved(&mut self, request: &Value, out: &mut Vec<DialectOutput>) {
        self.forms.remove(&request.to_string());
        self.open.retain(|open| {
            let is_resolved = open.request == *request;
            if is_resolved {
                out.push(DialectOutput::RequestWithdrawn(open.ask.clone()));
            }
            !is_resolved
        });
    }

    /// Withdraws all questions, since the turn is over. The server does the same for `thread`;
    /// those of other threads, which may still run, are refused.
    pub(super) fn withdraw_all(&mut self, thread: Option<&str>, out: &mut Vec<DialectOutput>) {
        for open in std::mem::take(&mut self.open) {
            out.push(DialectOutput::RequestWithdrawn(open.ask.clone()));
            if thread.is_some_and(|ours| ours != open.thread)
                && let Some(line) = self.reply(&open.request, open.rejection)
            {
                out.push(DialectOutput::StdinLine(line));
            }
        }
        self.forms.clear();
    }

    fn reply(&mut self, request: &Value, reply: CodexReply) -> Option<String> {
        let result = match reply {
            CodexReply::Result(result) => result,
            CodexReply::Part { question, answers } => {
                let form = self.forms.entry(request.to_string()).or_default();
                form.insert(question, json!({ "answers": answers }));
                if self.open.iter().any(|open| open.request == *request) {
                    return None;
                }
                json!({ "answers": self.forms.remove(&request.to_string()) })
            }
        };
        Some(json!({ "id": request, "result": result }).to_string())
    }

    fn ask(
        &mut self,
        id: &Value,
        params: &Value,
        mut call: ToolCall,
        choices: Vec<CodexOption>,
        cancellation: Value,
        out: &mut Vec<DialectOutput>,
    ) {
        if let Some(reason) = params["reason"].as_str().filter(|reason| !reason.is_empty()) {
            call.content.get_or_insert_default().push(ToolCallContent::text(reason));
        }
        let (mut options, mut replies) = (Vec::new(), HashMap::new());
        let mut rejection = CodexReply::Result(cancellation.clone());
        for (kind, option, name, result) in choices {
            if kind == PermissionOptionKind::RejectOnce {
                rejection = CodexReply::Result(result.clone());
            }
            // The same decision may be offered for several things.
            let n_same =
                options.iter().filter(|o: &&PermissionOption| is_same(&o.option_id, option));
            let option_id = match n_same.count() {
                0 => option.to_owned(),
                n => format!("{option}-{n}"),
            };
            replies.insert(option_id.clone(), CodexReply::Result(result));
            options.push(PermissionOption { option_id, name, kind });
        }
        let open = OpenCodexQuestion {
            ask: id.to_string(),
            request: id.clone(),
            thread: params["threadId"].as_str().unwrap_or_default().to_owned(),
            replies,
            rejection,
            cancellation: CodexReply::Result(cancellation),
        };
        self.put(open, call, options, out);
    }

    fn put(
        &mut self,
        open: OpenCodexQuestion,
        call: ToolCall,
        options: Vec<PermissionOption>,
        out: &mut Vec<DialectOutput>,
    ) {
        let call = ToolCall { status: Some(ToolCallStatus::Pending), ..call };
        out.push(DialectOutput::PermissionRequest(PermissionRequest {
            id: open.ask.clone(),
            call,
            options,
        }));
        self.open.push(open);
    }

    /// An elicitation of an MCP server. Codex also asks in this way whether it may call a tool. A
    /// form with fields does not fit a permission request and is declined.
    fn elicited(
        &mut self,
        id: &Value,
        params: &Value,
        streams: &CodexStreams,
        out: &mut Vec<DialectOutput>,
    ) {
        let fields = &params["requestedSchema"]["properties"];
        let is_question =
            params["mode"] == "form" && fields.as_object().is_none_or(serde_json::Map::is_empty);
        if !is_question {
            let line = json!({ "id": id, "result": { "action": "decline" } });
            return out.push(DialectOutput::StdinLine(line.to_string()));
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
        let mut choices: Vec<CodexOption> = vec![(
            PermissionOptionKind::AllowOnce,
            "accept",
            "Allow once".to_owned(),
            accept(None),
        )];
        let offers = |how: &str| {
            about["persist"].as_array().is_some_and(|all| all.iter().any(|one| one == how))
                || about["persist"] == how
        };
        if offers("session") {
            let name = "Allow for this session".to_owned();
            choices.push((
                PermissionOptionKind::AllowAlways,
                "acceptForSession",
                name,
                accept(Some("session")),
            ));
        }
        if offers("always") {
            let name = "Always allow".to_owned();
            choices.push((
                PermissionOptionKind::AllowAlways,
                "acceptAlways",
                name,
                accept(Some("always")),
            ));
        }
        let decline = json!({ "action": "decline" });
        choices.push((PermissionOptionKind::RejectOnce, "decline", "Reject".to_owned(), decline));
        self.ask(id, params, call, choices, json!({ "action": "cancel" }), out);
    }

    /// Questions of the model, each with choices. One without is left unanswered: a permission
    /// request cannot ask for a text.
    fn questions(
        &mut self,
        id: &Value,
        params: &Value,
        known: Option<ToolCall>,
        out: &mut Vec<DialectOutput>,
    ) {
        let questions = params["questions"].as_array().map_or(&[][..], Vec::as_slice);
        let thread = params["threadId"].as_str().unwrap_or_default();
        for (n, question) in questions.iter().enumerate() {
            let key = question["id"].as_str().unwrap_or_default().to_owned();
            let part = |answers: Vec<String>| CodexReply::Part { question: key.clone(), answers };
            let (mut options, mut replies) = (Vec::new(), HashMap::new());
            for (n, choice) in question["options"].as_array().into_iter().flatten().enumerate() {
                let Some(label) = choice["label"].as_str() else { continue };
                let option_id = format!("choice-{n}");
                replies.insert(option_id.clone(), part(vec![label.to_owned()]));
                options.push(PermissionOption::new(
                    option_id,
                    label,
                    PermissionOptionKind::AllowOnce,
                ));
            }
            if options.is_empty() {
                continue;
            }
            options.push(PermissionOption::new("skip", "Skip", PermissionOptionKind::RejectOnce));
            let open = OpenCodexQuestion {
                ask: format!("{id}.{n}"),
                request: id.clone(),
                thread: thread.to_owned(),
                replies,
                rejection: part(Vec::new()),
                cancellation: part(Vec::new()),
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
            out.push(DialectOutput::StdinLine(line.to_string()));
        }
    }
}

/// Whether an id was made of `option`.
fn is_same(option_id: &str, option: &str) -> bool {
    option_id.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// The options that Codex offers, and a refusal, which it takes even where it does not offer one.
fn decisions(offered: &Value) -> Vec<CodexOption> {
    let usual = [json!("accept"), json!("acceptForSession")];
    let offered = offered.as_array().map_or(&usual[..], Vec::as_slice);
    let mut choices: Vec<CodexOption> = offered.iter().filter_map(decision).collect();
    if !choices.iter().any(|(kind, ..)| *kind == PermissionOptionKind::RejectOnce) {
        choices.extend(decision(&json!("decline")));
    }
    choices
}

fn decision(decision: &Value) -> Option<CodexOption> {
    let result = json!({ "decision": decision });
    let (kind, option, name) = match decision {
        Value::String(word) => match word.as_str() {
            "accept" => (PermissionOptionKind::AllowOnce, "accept", "Allow once".to_owned()),
            "acceptForSession" => (
                PermissionOptionKind::AllowAlways,
                "acceptForSession",
                "Allow for this session".to_owned(),
            ),
            "decline" => (PermissionOptionKind::RejectOnce, "decline", "Reject".to_owned()),
            _ => return None,
        },
        Value::Object(_) => {
            let rule = &decision["acceptWithExecpolicyAmendment"]["execpolicy_amendment"];
            let host = &decision["applyNetworkPolicyAmendment"]["network_policy_amendment"];
            if let Some(words) = rule.as_array() {
                let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
                let name = tools::one_line(&format!("Always allow `{}`", words.join(" ")));
                (PermissionOptionKind::AllowAlways, "acceptWithRule", name)
            } else {
                let name = host["host"].as_str()?;
                match host["action"] == "deny" {
                    true => (
                        PermissionOptionKind::RejectAlways,
                        "denyHost",
                        format!("Never allow {name}"),
                    ),
                    false => (
                        PermissionOptionKind::AllowAlways,
                        "allowHost",
                        format!("Always allow {name}"),
                    ),
                }
            }
        }
        _ => return None,
    };
    Some((kind, option, name, result))
}

fn old_decisions() -> Vec<CodexOption> {
    let denied = json!({ "denied": { "rejection": "rejected by the user" } });
    let decided = |decision: Value| json!({ "decision": decision });
    vec![
        (
            PermissionOptionKind::AllowOnce,
            "approved",
            "Allow once".to_owned(),
            decided(json!("approved")),
        ),
        (
            PermissionOptionKind::AllowAlways,
            "approved_for_session",
            "Allow for this session".to_owned(),
            decided(json!("approved_for_session")),
        ),
        (PermissionOptionKind::RejectOnce, "denied", "Reject".to_owned(), decided(denied)),
    ]
}

fn old_call(params: &Value) -> &str {
    params["callId"].as_str().unwrap_or_default()
}

fn grants(wanted: &Value) -> Vec<CodexOption> {
    let grant = |scope: &str| json!({ "permissions": wanted, "scope": scope });
    let none = json!({ "permissions": {}, "scope": "turn" });
    vec![
        (PermissionOptionKind::AllowOnce, "turn", "Allow for this turn".to_owned(), grant("turn")),
        (
            PermissionOptionKind::AllowAlways,
            "session",
            "Allow for this session".to_owned(),
            grant("session"),
        ),
        (PermissionOptionKind::RejectOnce, "none", "Reject".to_owned(), none),
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
