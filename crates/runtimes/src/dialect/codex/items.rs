//! The items of a turn: messages, thoughts, plans and tool calls.
//!
//! In: an item, and whether it begins, goes on or is over. Out: the item by its kind, with tool
//! calls ready to be shown. Items without a status of their own have that of the event.

use serde_json::{Map, Value, json};

use super::{either, patch, plain, shell_command};
use crate::tools;
use crate::update::{
    ContentBlock, NoticeSeverity, PlanEntry, ToolCall, ToolCallContent, ToolCallLocation,
    ToolCallStatus, ToolKind,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum ItemPhase {
    Started,
    Updated,
    Completed,
}

#[derive(Debug)]
pub(in crate::dialect) enum CodexItem {
    Message(String),
    /// Codex shows a summary of the model's reasoning, or the reasoning itself.
    Thought {
        summary: String,
        content: String,
    },
    Plan(Vec<PlanEntry>),
    Call(Box<ToolCall>),
    Notice(NoticeSeverity, String),
    Compaction,
    /// The whole text of a review, which may have come as a message too.
    Review(String),
    /// The user's own message.
    UserMessage,
    Unknown,
}

/// The separator between the parts of one thought.
pub(in crate::dialect) const PART_BREAK: &str = "\n\n";

pub(in crate::dialect) fn read(item: &Value, phase: ItemPhase) -> CodexItem {
    let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let call = match plain(&item["type"]).as_str() {
        "agentmessage" | "plan" => return CodexItem::Message(text("text")),
        "reasoning" => {
            let content = match joined(&item["content"]) {
                content if content.is_empty() => text("text"),
                content => content,
            };
            return CodexItem::Thought { summary: joined(&item["summary"]), content };
        }
        "usermessage" => return CodexItem::UserMessage,
        "todolist" => return CodexItem::Plan(tools::plan_of(&item["items"]).unwrap_or_default()),
        "error" => return CodexItem::Notice(NoticeSeverity::Warning, text("message")),
        "hookprompt" => {
            let said = item["fragments"].as_array().into_iter().flatten();
            let said: Vec<&str> = said.filter_map(|part| part["text"].as_str()).collect();
            return CodexItem::Notice(
                NoticeSeverity::Info,
                format!("a hook added: {}", said.join("\n")),
            );
        }
        "contextcompaction" => return CodexItem::Compaction,
        "enteredreviewmode" => {
            let title = format!("review: {}", tools::one_line(&text("review")));
            return CodexItem::Notice(NoticeSeverity::Info, title);
        }
        "exitedreviewmode" => return CodexItem::Review(text("review")),
        "commandexecution" => command(item),
        "filechange" => patch::call(&item["changes"]),
        "mcptoolcall" => mcp(item),
        "dynamictoolcall" => dynamic(item),
        "collabtoolcall" | "collabagenttoolcall" => collab(item),
        "subagentactivity" => sub_agent(item),
        "websearch" => web_search(item),
        "imageview" => image_view(item),
        "imagegeneration" => image_generation(item),
        "sleep" => sleep(item),
        "functioncalloutput" => function_output(item),
        _ => return CodexItem::Unknown,
    };
    let how = || item["status"].as_str().map(|status| json!({ "status": status }));
    CodexItem::Call(Box::new(ToolCall {
        id: text("id"),
        status: Some(status(item, phase)),
        // The output is complete only when the call is over.
        raw_output: call.raw_output.or_else(how).filter(|_| phase == ItemPhase::Completed),
        ..call
    }))
}

/// A command that Codex asks about, with or without its item.
pub(in crate::dialect) fn asked_command(id: &str, params: &Value) -> ToolCall {
    ToolCall { id: id.to_owned(), raw_output: None, ..command(params) }
}

/// A change of files that Codex asks about in the older way.
pub(in crate::dialect) fn asked_changes(id: &str, by_path: &Value) -> ToolCall {
    changed(id, &patch::listed(by_path))
}

/// Changes that came after their item had begun.
pub(in crate::dialect) fn changed(id: &str, changes: &Value) -> ToolCall {
    ToolCall { id: id.to_owned(), ..patch::call(changes) }
}

fn status(item: &Value, phase: ItemPhase) -> ToolCallStatus {
    if phase != ItemPhase::Completed {
        return ToolCallStatus::InProgress;
    }
    let has_failed = ["failed", "declined", "interrupted", "cancelled", "error"]
        .contains(&plain(&item["status"]).as_str())
        || either(item, "exit_code", "exitCode").as_i64().is_some_and(|code| code != 0)
        || item["success"] == false
        || ["error", "failure"].iter().any(|name| !item[name].is_null());
    ToolCallStatus::of_end(has_failed)
}

fn command(item: &Value) -> ToolCall {
    let script = match &item["command"] {
        Value::Array(args) => {
            shell_command::of_args(&args.iter().filter_map(Value::as_str).collect::<Vec<_>>())
        }
        command => shell_command::of(command.as_str().unwrap_or_default()),
    };
    let mut input = Map::new();
    input.insert("command".to_owned(), json!(script));
    if let Some(cwd) = item["cwd"].as_str() {
        input.insert("cwd".to_owned(), json!(cwd));
    }
    let output = either(item, "aggregated_output", "aggregatedOutput").as_str();
    let output = output.filter(|output| !output.is_empty());
    let declined = (plain(&item["status"]) == "declined").then_some("declined");
    let exit_code = either(item, "exit_code", "exitCode");
    let title = match tools::one_line(&script) {
        title if title.is_empty() => "Run a command".to_owned(),
        title => title,
    };
    ToolCall {
        content: output.or(declined).map(|text| vec![ToolCallContent::text(text)]),
        raw_input: Some(Value::Object(input)),
        raw_output: Some(json!({ "status": item["status"], "exitCode": exit_code })),
        ..ToolCall::of(ToolKind::Execute, "command_execution", title)
    }
}

fn mcp(item: &Value) -> ToolCall {
    let word = |name: &str| item[name].as_str().unwrap_or_default();
    let name = format!("{}.{}", word("server"), word("tool"));
    let result = &item["result"];
    let mut content = contents(&result["content"]);
    if let Some(error) = item["error"]["message"].as_str() {
        content.push(ToolCallContent::text(error));
    }
    let raw = match &item["error"] {
        Value::Null => result,
        error => error,
    };
    ToolCall {
        content: (!content.is_empty()).then_some(content),
        raw_input: Some(item["arguments"].clone()),
        raw_output: (!raw.is_null()).then(|| raw.clone()),
        ..ToolCall::of(ToolKind::Other, name.as_str(), name.as_str())
    }
}

fn dynamic(item: &Value) -> ToolCall {
    let tool = item["tool"].as_str().unwrap_or("tool");
    let name = match item["namespace"].as_str() {
        Some(space) if !space.is_empty() => format!("{space}.{tool}"),
        _ => tool.to_owned(),
    };
    let content = contents(either(item, "content_items", "contentItems"));
    let arguments = &item["arguments"];
    ToolCall {
        content: (!content.is_empty()).then_some(content),
        raw_input: Some(arguments.clone()),
        raw_output: Some(json!({ "status": item["status"], "success": item["success"] })),
        ..ToolCall::of(tools::kind_of(tool), name.as_str(), tools::title_of(&name, arguments))
    }
}

/// A message to another agent of the same team. That agent's work is in a thread of its own.
fn collab(item: &Value) -> ToolCall {
    let tool = item["tool"].as_str().unwrap_or("agent");
    let prompt = item["prompt"].as_str().unwrap_or_default();
    let title = match prompt.is_empty() {
        true => tool.to_owned(),
        false => format!("{tool}: {prompt}"),
    };
    let states = either(item, "agents_states", "agentsStates");
    let said = states.as_object().into_iter().flatten();
    let said: Vec<&str> = said.filter_map(|(_, state)| state["message"].as_str()).collect();
    ToolCall {
        content: (!said.is_empty()).then(|| vec![ToolCallContent::text(said.join("\n"))]),
        raw_input: Some(json!({ "prompt": item["prompt"], "model": item["model"] })),
        raw_output: Some(json!({ "status": item["status"], "agents": states })),
        ..ToolCall::of(ToolKind::Think, tool, tools::one_line(&title))
    }
}

fn sub_agent(item: &Value) -> ToolCall {
    let word = |name: &str| item[name].as_str().unwrap_or_default();
    let title = tools::one_line(&format!("{}: {}", word("agentPath"), word("kind")));
    ToolCall {
        raw_input: Some(json!({ "agentPath": item["agentPath"], "kind": item["kind"] })),
        ..ToolCall::of(ToolKind::Think, "sub_agent", title)
    }
}

fn web_search(item: &Value) -> ToolCall {
    let action = &item["action"];
    let words = [&item["query"], &action["query"], &action["url"], &action["pattern"]];
    let about = words.iter().find_map(|word| word.as_str().filter(|word| !word.is_empty()));
    let title = match about {
        Some(about) => tools::one_line(&format!("web search: {about}")),
        None => "web search".to_owned(),
    };
    ToolCall {
        raw_input: Some(json!({ "query": item["query"], "action": action })),
        raw_output: (!item["results"].is_null()).then(|| item["results"].clone()),
        ..ToolCall::of(ToolKind::Fetch, "web_search", title)
    }
}

fn image_view(item: &Value) -> ToolCall {
    let path = item["path"].as_str().unwrap_or_default();
    let title = tools::one_line(&format!("view_image: {path}"));
    ToolCall {
        locations: Some(vec![ToolCallLocation { path: path.to_owned(), line: None }]),
        raw_input: Some(json!({ "path": path })),
        ..ToolCall::of(ToolKind::Read, "view_image", title)
    }
}

fn image_generation(item: &Value) -> ToolCall {
    let word = |name: &str| item[name].as_str().filter(|word| !word.is_empty());
    let image = word("result").map(|data| {
        let (data, mime_type) = (data.to_owned(), "image/png".to_owned());
        ToolCallContent::Content { content: ContentBlock::Image { data, mime_type } }
    });
    let saved = word("savedPath");
    let title = match word("revisedPrompt") {
        Some(prompt) => tools::one_line(&format!("image: {prompt}")),
        None => "image".to_owned(),
    };
    ToolCall {
        content: image.map(|image| vec![image]),
        locations: saved.map(|path| vec![ToolCallLocation { path: path.to_owned(), line: None }]),
        raw_input: Some(json!({ "prompt": item["revisedPrompt"] })),
        ..ToolCall::of(ToolKind::Other, "image_generation", title)
    }
}

fn sleep(item: &Value) -> ToolCall {
    let millis = either(item, "duration_ms", "durationMs").as_u64().unwrap_or_default();
    ToolCall {
        raw_input: Some(json!({ "durationMs": millis })),
        ..ToolCall::of(ToolKind::Other, "sleep", format!("sleep {millis} ms"))
    }
}

fn function_output(item: &Value) -> ToolCall {
    let name = item["name"].as_str().unwrap_or("tool");
    let content = match &item["output"] {
        Value::String(text) => vec![ToolCallContent::text(text)],
        parts => contents(parts),
    };
    ToolCall {
        content: (!content.is_empty()).then_some(content),
        ..ToolCall::of(tools::kind_of(name), name, name)
    }
}

/// Blocks of MCP's kind or of the model's, as far as they can be shown.
fn contents(parts: &Value) -> Vec<ToolCallContent> {
    let parts = parts.as_array().into_iter().flatten();
    let blocks = parts.filter_map(|part| {
        if let Some(text) = part["text"].as_str() {
            return Some(ContentBlock::text(text));
        }
        if part["type"] == "image" {
            let data = part["data"].as_str()?.to_owned();
            let mime_type = part["mimeType"].as_str().unwrap_or("image/png").to_owned();
            return Some(ContentBlock::Image { data, mime_type });
        }
        let url = either(part, "image_url", "imageUrl").as_str()?;
        let (mime_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
        Some(ContentBlock::Image { data: data.to_owned(), mime_type: mime_type.to_owned() })
    });
    blocks.map(|content| ToolCallContent::Content { content }).collect()
}

/// The parts of a thought as one text.
fn joined(parts: &Value) -> String {
    let parts = parts.as_array().into_iter().flatten().filter_map(Value::as_str);
    parts.collect::<Vec<_>>().join(PART_BREAK)
}
