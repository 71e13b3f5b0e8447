//! The kind, title, files and diff of a tool call, from the tool's name and its input.
//!
//! CLIs name their tools and members differently and mostly mean the same.

use serde_json::{Value, json};

use crate::update::{
    NoticeSeverity, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, ToolCall,
    ToolCallContent, ToolCallLocation, ToolKind,
};

/// Titles are one line.
const MAX_TITLE_CHARS: usize = 160;

/// The ACP kind of the tool `name`.
pub fn kind_of(name: &str) -> ToolKind {
    match plain_name(name).as_str() {
        "bash" | "shell" | "runshellcommand" | "shellcommand" | "terminal" | "exec" | "execute"
        | "execcommand" | "runcommand" | "command" | "commandexecution" | "bashoutput"
        | "killshell" | "powershell" | "localshell" | "writebash" | "readbash" | "stopbash"
        | "listbash" | "writestdin" | "unifiedexec" | "runterminalcmd" | "runinterminal" => {
            ToolKind::Execute
        }
        "read" | "readfile" | "readmanyfiles" | "view" | "cat" | "ls" | "list"
        | "listdirectory" | "listdir" | "notebookread" | "viewimage" | "readfolder"
        | "readtextfile" => ToolKind::Read,
        "write"
        | "writefile"
        | "edit"
        | "editfile"
        | "multiedit"
        | "replace"
        | "create"
        | "createfile"
        | "strreplace"
        | "applypatch"
        | "patch"
        | "filechange"
        | "notebookedit"
        | "insert"
        | "update"
        | "writetextfile"
        | "strreplacebasededittool"
        | "strreplaceeditor"
        | "strreplacefile"
        | "searchreplace" => ToolKind::Edit,
        "delete" | "deletefile" | "remove" => ToolKind::Delete,
        "move" | "rename" | "movefile" => ToolKind::Move,
        "grep" | "glob" | "search" | "searchfiles" | "searchfilecontent" | "find" | "ripgrep"
        | "grepsearch" | "globsearch" | "rg" | "codebasesearch" | "toolsearch" | "semsearch"
        | "finder" | "codesearch" => ToolKind::Search,
        "webfetch" | "fetch" | "websearch" | "googlewebsearch" | "fetchurl" | "urlfetch"
        | "readwebpage" | "searchweb" => ToolKind::Fetch,
        "task" | "agent" | "think" | "todowrite" | "todoread" | "writetodos" | "updateplan"
        | "subagent" | "delegate" | "reportintent" => ToolKind::Think,
        "exitplanmode" | "enterplanmode" | "switchmode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// A call of the tool `name`; of a sub-agent's, if another call was the `parent` of it.
pub fn call_of(id: &str, name: &str, input: &Value, parent: Option<&str>) -> ToolCall {
    ToolCall {
        id: id.to_owned(),
        title: Some(title_of(name, input)),
        name: Some(name.to_owned()),
        kind: Some(kind_of(name)),
        content: diff_of(name, input),
        locations: locations_of(input),
        raw_input: (!input.is_null()).then(|| input.clone()),
        meta: parent.map(|id| json!({ "switchyard": { "parentToolCallId": id } })),
        ..ToolCall::default()
    }
}

/// A name without its case and separators: `in_progress` and `inProgress` are one.
pub fn plain_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The title of a call, one line: its command, or the tool with its file, pattern or URL.
pub fn title_of(name: &str, input: &Value) -> String {
    let title = match kind_of(name) {
        ToolKind::Execute => words(input, &["command", "cmd", "script"]),
        ToolKind::Search => words(input, &["pattern", "query", "regex", "globPattern"]),
        ToolKind::Fetch => words(input, &["url", "query"]),
        ToolKind::Think => words(input, &["description", "prompt", "intent"]),
        _ => path_of(input).map(str::to_owned),
    };
    let title = match title {
        Some(command) if kind_of(name) == ToolKind::Execute => command,
        Some(about) => format!("{name}: {about}"),
        None => name.to_owned(),
    };
    one_line(&title)
}

/// The first line, not too long.
pub fn one_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next().unwrap_or_default().trim();
    let mut short: String = line.chars().take(MAX_TITLE_CHARS).collect();
    if line.chars().count() > MAX_TITLE_CHARS || lines.next().is_some() {
        short.push('…');
    }
    short
}

/// A notice whose title is the first line of `text`; a longer text is in the description too.
pub fn long_notice(
    severity: NoticeSeverity,
    text: &str,
    description: Option<String>,
) -> SessionUpdate {
    let title = one_line(text);
    let description = match (title == text, description) {
        (true, description) => description,
        (false, Some(description)) => Some(format!("{text}\n{description}")),
        (false, None) => Some(text.to_owned()),
    };
    SessionUpdate::Notice { severity, title, description }
}

/// The file that the input names.
pub fn path_of(input: &Value) -> Option<&str> {
    const NAMES: [&str; 11] = [
        "file_path",
        "filePath",
        "path",
        "absolute_path",
        "notebook_path",
        "filename",
        "fileName",
        "file",
        "dir_path",
        "target_file",
        "directory",
    ];
    NAMES.iter().find_map(|name| input[name].as_str()).filter(|path| !path.is_empty())
}

/// The files that the input names, with a line where it is known.
fn locations_of(input: &Value) -> Option<Vec<ToolCallLocation>> {
    let path = path_of(input)?.to_owned();
    let line = ["line", "offset"].iter().find_map(|name| input[name].as_u64());
    Some(vec![ToolCallLocation { path, line }])
}

/// The change that an editing tool makes, if its input says so.
pub fn diff_of(name: &str, input: &Value) -> Option<Vec<ToolCallContent>> {
    if kind_of(name) != ToolKind::Edit {
        return None;
    }
    let path = path_of(input)?;
    let diff = |old: Option<&str>, new: &str| ToolCallContent::Diff {
        path: path.to_owned(),
        old_text: old.map(str::to_owned),
        new_text: new.to_owned(),
    };
    if let Value::Array(edits) = &input["edits"] {
        let changes = edits.iter().filter_map(old_and_new);
        let diffs: Vec<_> = changes.map(|(old, new)| diff(Some(old), new)).collect();
        return (!diffs.is_empty()).then_some(diffs);
    }
    if let Some((old, new)) = old_and_new(input) {
        return Some(vec![diff(Some(old), new)]);
    }
    let whole = ["content", "contents", "file_text", "fileText", "text"];
    let new = whole.iter().find_map(|name| input[name].as_str())?;
    Some(vec![diff(None, new)])
}

fn old_and_new(edit: &Value) -> Option<(&str, &str)> {
    const PAIRS: [(&str, &str); 4] = [
        ("old_string", "new_string"),
        ("oldString", "newString"),
        ("old_str", "new_str"),
        ("oldText", "newText"),
    ];
    PAIRS.iter().find_map(|(old, new)| Some((edit[old].as_str()?, edit[new].as_str()?)))
}

/// A list of todos, in any of the shapes in use, as a plan.
pub fn plan_of(todos: &Value) -> Option<Vec<PlanEntry>> {
    let todos = todos.as_array()?;
    let entries = todos.iter().filter_map(|todo| {
        let names = ["content", "step", "text", "description", "subject", "title"];
        let content = names.iter().find_map(|name| todo[name].as_str())?.to_owned();
        let status = match todo["status"].as_str().unwrap_or_default() {
            "completed" | "done" => PlanEntryStatus::Completed,
            "in_progress" | "inProgress" => PlanEntryStatus::InProgress,
            _ if todo["completed"] == true => PlanEntryStatus::Completed,
            _ => PlanEntryStatus::Pending,
        };
        let priority = match todo["priority"].as_str().unwrap_or_default() {
            "high" => PlanEntryPriority::High,
            "low" => PlanEntryPriority::Low,
            _ => PlanEntryPriority::Medium,
        };
        Some(PlanEntry { content, priority, status })
    });
    Some(entries.collect())
}

fn words(input: &Value, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match &input[name] {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(parts) => {
            let parts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            (!parts.is_empty()).then(|| parts.join(" "))
        }
        _ => None,
    })
}
