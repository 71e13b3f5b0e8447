use super::*;

fn tool(name: &str, schema: Value) -> Tool {
    Tool { name: name.to_owned(), namespace: None, schema: Some(schema) }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required })
}

fn json_of(deed: &ToolAction, tools: &[Tool]) -> (String, Value) {
    let call = call(deed, tools);
    (call.name.clone(), call.input.json())
}

fn write() -> ToolAction {
    ToolAction::Write { path: "/w/a.txt".into(), content: "hi\n".into() }
}

#[test]
fn a_tool_gets_what_is_known_under_its_own_names_and_what_else_it_requires() {
    let text = json!({ "type": "string" });
    let schemas = [
        ("write", "filePath", "content"),
        ("create", "path", "file_text"),
        ("write_file", "file_path", "content"),
        ("WriteFile", "path", "content"),
        ("Create", "file_path", "content"),
    ];
    for (name, path, content) in schemas {
        let schema = object(
            json!({ path: text, content: text, "mode": { "enum": ["overwrite", "append"] }, "extra": text }),
            &[path, content, "mode"],
        );
        let expected = json!({ path: "/w/a.txt", content: "hi\n", "mode": "overwrite" });
        assert_eq!(json_of(&write(), &[tool(name, schema)]), (name.to_owned(), expected));
    }
}

#[test]
fn a_command_is_a_string_an_argv_or_one_of_a_list() {
    let deed = ToolAction::Shell { command: "ls".into() };
    let list = json!({ "type": "array", "items": { "type": "string" } });
    for (name, key, schema, expected) in [
        ("bash", "command", json!({ "type": "string" }), json!("ls")),
        ("shell", "command", list.clone(), json!(["bash", "-lc", "ls"])),
        ("run_commands", "commands", list, json!(["ls"])),
    ] {
        let (used, arguments) =
            json_of(&deed, &[tool(name, object(json!({ key: schema }), &[key]))]);
        assert_eq!((used.as_str(), &arguments[key]), (name, &expected));
    }
}

#[test]
fn edits_may_be_nested_in_lists_and_behind_references() {
    let edit = ToolAction::Edit { path: "a".into(), old: "x".into(), new: "y".into() };
    let text = json!({ "type": "string" });
    let schema = json!({
        "type": "object", "required": ["path", "edits"],
        "properties": { "path": text, "edits": { "type": "array", "items": { "$ref": "#/$defs/Edit" } } },
        "$defs": { "Edit": object(json!({ "oldText": text, "newText": text }), &["oldText", "newText"]) },
    });

    let (_, arguments) = json_of(&edit, &[tool("edit", schema)]);

    assert_eq!(arguments, json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y" }] }));
}

#[test]
fn a_file_is_written_by_a_patch_where_there_is_no_tool_for_it() {
    let freeform = Tool { name: "apply_patch".into(), namespace: None, schema: None };
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\n";
    assert_eq!(call(&write(), &[freeform]).input, Input::Text(patch.to_owned()));

    let shell = tool("exec_command", object(json!({ "cmd": { "type": "string" } }), &["cmd"]));
    let (_, arguments) = json_of(&write(), &[shell]);
    assert_eq!(arguments["cmd"], format!("apply_patch <<'EOF'\n{patch}EOF\n"));
}

#[test]
fn in_code_mode_everything_is_a_script() {
    let exec = Tool { name: "exec".into(), namespace: Some("functions".into()), schema: None };
    let made = call(&ToolAction::Shell { command: "ls".into() }, &[exec]);

    assert_eq!(made.namespace.as_deref(), Some("functions"));
    assert!(made.input.text().contains(r#"tools.exec_command({"cmd":"ls"})"#));
}

#[test]
fn the_smallest_value_fits_the_schema_that_a_router_demands() {
    let schema = object(
        json!({ "title": { "type": "STRING" }, "n": { "type": ["integer", "null"], "minimum": 3 },
            "kind": { "enum": ["a", "b"] }, "free": { "type": "boolean" } }),
        &["title", "n", "kind"],
    );
    assert_eq!(smallest(&schema), json!({ "title": "ok", "n": 3, "kind": "a" }));
}
