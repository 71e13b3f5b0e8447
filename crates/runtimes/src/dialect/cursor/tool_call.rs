//! A tool call in Cursor's format: `{"readToolCall":{"args":…,"result":…}}`, with more members.

use serde_json::{Value, json};

use super::super::json::parse;
use crate::tools;
use crate::update::{PlanEntry, ToolCallContent};

/// Whole files are shown as a change up to this size.
const MAX_FILE_BYTES: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct CursorToolCall {
    /// `read`, or the name that an MCP server gave it.
    pub(super) name: String,
    pub(super) args: Value,
    /// The result: an object with one member, `success` or another for a failure.
    pub(super) result: Value,
}

impl CursorToolCall {
    pub(super) fn read(call: &Value) -> Option<Self> {
        let members = call.as_object()?;
        // Other members have been added over time; this one says which tool it is.
        let named =
            members.iter().find(|(key, value)| key.ends_with("ToolCall") && value.is_object());
        if let Some((key, tool)) = named {
            let (args, result) = (&tool["args"], tool["result"].clone());
            let own = ["toolName", "name"].iter().find_map(|key| args[key].as_str());
            return Some(match own.or_else(|| tool["toolName"].as_str()) {
                // A tool of an MCP server, with arguments within the arguments.
                Some(own) if key == "mcpToolCall" => {
                    let args = if args["args"].is_object() { &args["args"] } else { args };
                    Self { name: own.to_owned(), args: args.clone(), result }
                }
                _ => {
                    let name = key.trim_end_matches("ToolCall").to_owned();
                    Self { name, args: args.clone(), result }
                }
            });
        }
        // The documented form of all tools that have no form of their own.
        let function = members.get("function")?;
        let arguments = &function["arguments"];
        let args = arguments.as_str().and_then(|text| parse(text).ok());
        Some(Self {
            name: function["name"].as_str().unwrap_or("tool").to_owned(),
            args: args.unwrap_or_else(|| arguments.clone()),
            result: function["result"].clone(),
        })
    }

    /// Whether it only keeps the todo list.
    pub(super) fn is_todo_list(&self) -> bool {
        matches!(self.name.as_str(), "updateTodos" | "todoWrite" | "todo" | "readTodos")
    }

    pub(super) fn plan(&self) -> Option<Vec<PlanEntry>> {
        // The result has all of them, the arguments maybe only those that change.
        let lists = [&self.result["success"]["todos"], &self.args["todos"]];
        let list = lists.into_iter().find_map(Value::as_array)?;
        let todos = list.iter().filter_map(|todo| {
            let status = todo["status"].as_str().unwrap_or("pending").to_lowercase();
            let status = status.trim_start_matches("todo_status_");
            let is_shown = status != "cancelled";
            is_shown.then(|| json!({ "content": todo["content"], "status": status }))
        });
        tools::plan_of(&Value::Array(todos.collect()))
    }

    /// Whether the call failed: a result without `success`, or a command with an exit code.
    pub(super) fn is_failure(&self) -> bool {
        let Some(result) = self.result.as_object() else { return false };
        let success = &self.result["success"];
        let is_success = result.is_empty() || result.contains_key("success");
        !is_success || success["exitCode"].as_i64().is_some_and(|code| code != 0)
    }

    /// The content of the call, for people.
    pub(super) fn content(&self) -> Vec<ToolCallContent> {
        let change = self.change();
        let text = match &change {
            Some(_) => None,
            None => self.text().filter(|text| !text.is_empty()),
        };
        let fallback = || match self.is_failure() {
            true => Vec::new(),
            false => tools::diff_of(&self.name, &self.args).unwrap_or_default(),
        };
        let mut content = change.map_or_else(fallback, |change| vec![change]);
        content.extend(text.map(ToolCallContent::text));
        content
    }

    fn change(&self) -> Option<ToolCallContent> {
        let success = &self.result["success"];
        let file = |name: &str| success[name].as_str().filter(|text| text.len() <= MAX_FILE_BYTES);
        let (old, new) = (file("beforeFullFileContent"), file("afterFullFileContent")?);
        // Without the old text only a file that had none can be shown.
        if old.is_none() && success["linesRemoved"].as_u64().unwrap_or_default() > 0 {
            return None;
        }
        let path = success["path"].as_str().or_else(|| tools::path_of(&self.args))?;
        Some(ToolCallContent::Diff {
            path: path.to_owned(),
            old_text: old.map(str::to_owned),
            new_text: new.to_owned(),
        })
    }

    fn text(&self) -> Option<String> {
        let (_, how) = self.result.as_object()?.iter().next()?;
        let how = self.result.get("success").unwrap_or(how);
        if let Some(text) = how.as_str() {
            return Some(text.to_owned());
        }
        let text = |name: &str| how[name].as_str().filter(|text| !text.is_empty());
        let printed: Vec<&str> = ["stdout", "stderr"].into_iter().filter_map(text).collect();
        if !printed.is_empty() {
            return Some(printed.join("\n"));
        }
        const NAMES: [&str; 9] = [
            "content",
            "output",
            "text",
            "diffString",
            "message",
            "errorMessage",
            "error",
            "reason",
            "markdown",
        ];
        let named = NAMES.into_iter().find_map(text).map(str::to_owned);
        let texts = || {
            let blocks = how["content"].as_array()?.iter();
            let texts = blocks.filter_map(|b| b["text"]["text"].as_str().or(b["text"].as_str()));
            Some(texts.collect::<Vec<_>>().join("\n"))
        };
        let files = || {
            let files = how["files"].as_array()?.iter().filter_map(Value::as_str);
            Some(files.collect::<Vec<_>>().join("\n"))
        };
        named.or_else(texts).or_else(files)
    }
}
