//! Permission requests of the CLI, and our responses.
//!
//! In: `can_use_tool` requests. Out: questions with the options that fit, and one response to each
//! request. A tool that itself asks the user (`AskUserQuestion`) becomes one question for each of
//! its own, one after the other; the choices reach the model as the tool's answers.

use serde_json::{Map, Value, json};

use super::super::{DialectOutput, Outputs, PermissionAnswer, PermissionOption, PermissionRequest};
use super::tool_calls::ClaudeToolCalls;
use crate::tools;
use crate::update::{ToolCall, ToolCallContent, ToolKind};

const ALLOW: &str = "allow";
const ALWAYS: &str = "allow-always";
const REJECT: &str = "reject";
/// The option that selects every choice of a question with multiple selection.
const ALL: &str = "choice-all";
const CHOICE: &str = "choice-";

const DENIED: &str = "The user does not want this tool to be used. Do not try it in another way; \
                      go on without it, or ask what to do instead.";
const KEEP_PLANNING: &str = "The user wants to keep planning. Ask what should change.";
const NOT_ANSWERED: &str = "The user did not answer. Go on as you think best.";
const CANCELLED: &str = "The user cancelled the turn.";

#[derive(Debug, Default)]
pub(super) struct ClaudeQuestions {
    open: Vec<CanUseToolRequest>,
}

#[derive(Debug)]
struct CanUseToolRequest {
    id: String,
    tool: String,
    call: ToolCall,
    input: Value,
    /// The rules that `always` adds to the CLI's own.
    rules: Vec<Value>,
    questions: Vec<ClaudeQuestion>,
    answers: Map<String, Value>,
}

#[derive(Debug)]
struct ClaudeQuestion {
    text: String,
    /// Label and description of each choice.
    choices: Vec<(String, String)>,
    takes_several: bool,
}

impl ClaudeQuestions {
    pub(super) fn handle_request(
        &mut self,
        line: &Value,
        toolbox: &mut ClaudeToolCalls,
        out: &mut Outputs,
    ) {
        let Some(id) = line["request_id"].as_str().filter(|id| !id.is_empty()) else { return };
        let asked = &line["request"];
        let tool = asked["tool_name"].as_str().unwrap_or("tool");
        let input = asked["input"].clone();
        let call_id = asked["tool_use_id"].as_str().unwrap_or(id);
        // The request may leave out the tool's input, such as a plan.
        let shown = match toolbox.input_of(call_id) {
            Some(known) if input.as_object().is_none_or(Map::is_empty) => known.clone(),
            _ => input.clone(),
        };
        let mut call = toolbox.call_of_question(call_id, tool, &shown, out);
        if let Some(title) = asked["title"].as_str().filter(|title| !title.is_empty()) {
            call.title = Some(tools::one_line(title));
        }
        add_text(&mut call, asked["decision_reason"].as_str());
        if tool == "ExitPlanMode" {
            call.kind = Some(ToolKind::SwitchMode);
            call.title = Some("The plan is ready".to_owned());
            add_text(&mut call, shown["plan"].as_str());
        }
        let request = CanUseToolRequest {
            id: id.to_owned(),
            rules: rules_of(asked, tool),
            questions: questions_of(tool, &input),
            tool: tool.to_owned(),
            call,
            input,
            answers: Map::new(),
        };
        out.push(DialectOutput::PermissionRequest(request.ask()));
        self.open.push(request);
    }

    pub(super) fn answer(&mut self, ask: &str, answer: &PermissionAnswer, out: &mut Outputs) {
        let Some(at) = self.open.iter().position(|request| request.ask_id() == ask) else { return };
        let mut request = self.open.remove(at);
        let response = match answer {
            PermissionAnswer::Cancelled => deny(CANCELLED, true),
            PermissionAnswer::Chosen(option) => match request.choose(option) {
                Some(response) => response,
                None => {
                    out.push(DialectOutput::PermissionRequest(request.ask()));
                    self.open.push(request);
                    return;
                }
            },
        };
        let line = json!({
            "type": "control_response",
            "response": { "subtype": "success", "request_id": request.id, "response": response },
        });
        out.write(&line);
    }

    /// A `control_cancel_request`.
    pub(super) fn cancel(&mut self, line: &Value, out: &mut Outputs) {
        let id = line["request_id"].as_str().unwrap_or_default();
        if let Some(at) = self.open.iter().position(|request| request.id == id) {
            out.push(DialectOutput::RequestWithdrawn(self.open.remove(at).ask_id()));
        }
    }

    /// The call has a result, so its question was answered elsewhere.
    pub(super) fn settle(&mut self, call: &str, out: &mut Outputs) {
        for request in self.open.extract_if(.., |request| request.call.id == call) {
            out.push(DialectOutput::RequestWithdrawn(request.ask_id()));
        }
    }

    /// The process is gone; all questions are withdrawn.
    pub(super) fn withdraw(&mut self, out: &mut Outputs) {
        for request in self.open.drain(..) {
            out.push(DialectOutput::RequestWithdrawn(request.ask_id()));
        }
    }
}

impl CanUseToolRequest {
    /// The id of the present question; each question of a request has an id of its own.
    fn ask_id(&self) -> String {
        match self.answers.len() {
            0 => self.id.clone(),
            n => format!("{}#{}", self.id, n + 1),
        }
    }

    fn question(&self) -> Option<&ClaudeQuestion> {
        self.questions.get(self.answers.len())
    }

    fn ask(&self) -> PermissionRequest {
        let mut call = self.call.clone();
        let options = match self.question() {
            Some(question) => {
                call.title = Some(tools::one_line(&question.text));
                call.content = Some(vec![ToolCallContent::text(question.text_with_choices())]);
                // So that a policy that allows tools does not answer for the user.
                call.meta = Some(json!({ "switchyard": { "isQuestion": true } }));
                question.options()
            }
            None => self.options(),
        };
        PermissionRequest { id: self.ask_id(), call, options }
    }

    fn options(&self) -> Vec<PermissionOption> {
        if self.tool == "ExitPlanMode" {
            return vec![
                PermissionOption::allow_once(ALLOW, "Start, and ask before each edit"),
                PermissionOption::allow_always(ALWAYS, "Start, and edit without asking"),
                PermissionOption::reject_once(REJECT, "Keep planning"),
            ];
        }
        let mut options = vec![PermissionOption::allow_once(ALLOW, "Allow")];
        if !self.rules.is_empty() {
            options.push(PermissionOption::allow_always(ALWAYS, always_name(&self.rules)));
        }
        options.push(PermissionOption::reject_once(REJECT, "Reject"));
        options
    }

    /// The response to the CLI; `None` when there is a question left.
    fn choose(&mut self, option: &str) -> Option<Value> {
        let Some(question) = self.question() else {
            return Some(match option {
                ALLOW => json!({ "behavior": "allow", "updatedInput": self.input }),
                ALWAYS if !self.rules.is_empty() => json!({
                    "behavior": "allow",
                    "updatedInput": self.input,
                    "updatedPermissions": self.rules,
                }),
                _ if self.tool == "ExitPlanMode" => deny(KEEP_PLANNING, false),
                _ => deny(DENIED, false),
            });
        };
        let Some(answer) = question.answer(option) else { return Some(deny(NOT_ANSWERED, false)) };
        let text = question.text.clone();
        self.answers.insert(text, json!(answer));
        if self.question().is_some() {
            return None;
        }
        let mut input = self.input.clone();
        // Questions were found in it, so that it is an object.
        if let Some(members) = input.as_object_mut() {
            members.insert("answers".to_owned(), Value::Object(self.answers.clone()));
        }
        Some(json!({ "behavior": "allow", "updatedInput": input }))
    }
}

impl ClaudeQuestion {
    fn options(&self) -> Vec<PermissionOption> {
        let choices = self.choices.iter().enumerate();
        let choices = choices
            .map(|(n, (label, _))| PermissionOption::allow_once(format!("{CHOICE}{n}"), label));
        let all = self.takes_several.then(|| PermissionOption::allow_once(ALL, "All of these"));
        let none = PermissionOption::reject_once(REJECT, "Do not answer");
        choices.chain(all).chain([none]).collect()
    }

    fn answer(&self, option: &str) -> Option<String> {
        if option == ALL {
            let labels: Vec<&str> = self.choices.iter().map(|(label, _)| &**label).collect();
            return Some(labels.join(", "));
        }
        let n: usize = option.strip_prefix(CHOICE)?.parse().ok()?;
        self.choices.get(n).map(|(label, _)| label.clone())
    }

    fn text_with_choices(&self) -> String {
        let choices = self.choices.iter().filter(|(_, description)| !description.is_empty());
        let lines = choices.map(|(label, description)| format!("- {label}: {description}"));
        std::iter::once(self.text.clone()).chain(lines).collect::<Vec<_>>().join("\n")
    }
}

/// The questions in the tool's input; none if one has no choices, or two have the same text.
fn questions_of(tool: &str, input: &Value) -> Vec<ClaudeQuestion> {
    if !matches!(tool, "AskUserQuestion" | "ask_user_question") {
        return Vec::new();
    }
    let questions = input["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut read: Vec<ClaudeQuestion> = Vec::new();
    for question in questions {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let options = question["options"].as_array().into_iter().flatten();
        let choices = options.map(|one| (text(&one["label"]), text(&one["description"])));
        let choices: Vec<_> = choices.collect();
        let text = text(&question["question"]);
        let is_new = read.iter().all(|known| known.text != text);
        if text.is_empty() || choices.is_empty() || !is_new {
            return Vec::new();
        }
        let takes_several = question["multiSelect"] == true;
        read.push(ClaudeQuestion { text, choices, takes_several });
    }
    read
}

/// The permission rules that the CLI proposes to add, in the form in which it accepts them.
fn rules_of(asked: &Value, tool: &str) -> Vec<Value> {
    if tool == "ExitPlanMode" {
        return vec![json!({ "type": "setMode", "mode": "acceptEdits", "destination": "session" })];
    }
    if asked["suppress_always_allow_rule"] == true {
        return Vec::new();
    }
    let known = ["addRules", "replaceRules", "setMode", "addDirectories"];
    let proposed = asked["permission_suggestions"].as_array().into_iter().flatten();
    proposed
        .filter(|rule| rule["type"].as_str().is_some_and(|kind| known.contains(&kind)))
        .cloned()
        .collect()
}

fn always_name(rules: &[Value]) -> String {
    let parts = rules.iter().flat_map(|rule| match rule["type"].as_str().unwrap_or_default() {
        "setMode" if rule["mode"] == "acceptEdits" => vec!["all edits in this session".to_owned()],
        "setMode" => vec![format!("mode {}", rule["mode"].as_str().unwrap_or_default())],
        "addDirectories" => {
            let dirs = rule["directories"].as_array().into_iter().flatten();
            dirs.filter_map(Value::as_str).map(|dir| format!("access to {dir}")).collect()
        }
        _ => rule["rules"].as_array().into_iter().flatten().map(rule_name).collect(),
    });
    let parts: Vec<String> = parts.collect();
    tools::one_line(&format!("Always allow {}", parts.join(", ")))
}

fn rule_name(rule: &Value) -> String {
    let tool = rule["toolName"].as_str().unwrap_or_default();
    match rule["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    }
}

fn deny(why: &str, is_end: bool) -> Value {
    match is_end {
        true => json!({ "behavior": "deny", "message": why, "interrupt": true }),
        false => json!({ "behavior": "deny", "message": why }),
    }
}

fn add_text(call: &mut ToolCall, text: Option<&str>) {
    if let Some(text) = text.filter(|text| !text.trim().is_empty()) {
        call.content.get_or_insert_default().push(ToolCallContent::text(text));
    }
}
