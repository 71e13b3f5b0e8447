//! What an agent does without asking is held to the rules, and to nothing else.

use roots::ForbiddenDirs;
use serde_json::{Value, json};

use super::*;
use crate::permission::Rules;

fn judge(rules: &str, work: &Path) -> Judge {
    let roots = Roots::open(&[work.to_owned()], &ForbiddenDirs::default()).unwrap();
    let book = RuleBook::default();
    book.replace(Rules::parse(rules).unwrap());
    Judge {
        policy: PermissionPolicy { rules: Rules::default(), mode: PermissionMode::Auto },
        rules: book,
        agent: "an agent".into(),
        roots: Arc::new(roots),
    }
}

#[test]
fn a_terminal_of_the_built_in_agent_runs_what_no_rule_denies() {
    let dir = tempfile::tempdir().unwrap();
    let judge = judge("[[rules]]\naction = \"deny\"\ncommands = [\"touch\"]", dir.path());
    let is_allowed = |line: &str, key: &str, value: &str| {
        let params = json!({
            "sessionId": "s",
            "command": "bash",
            "args": ["-c", line],
            "env": [
                { "name": "GIT_CONFIG_COUNT", "value": "1" },
                { "name": "GIT_CONFIG_KEY_0", "value": key },
                { "name": "GIT_CONFIG_VALUE_0", "value": value },
            ],
        });
        judge.request("terminal/create", &params.to_string()).is_ok()
    };
    let (key, value) = ("safe.bareRepository", "explicit");
    assert!(is_allowed("ls", key, value));
    assert!(is_allowed("mkdir -p src/{a,b}", key, value));
    for line in ["touch F", "{touch,F}", "{env,-i,touch,F}", "echo ${a['$(touch F)']}"] {
        assert!(!is_allowed(line, key, value), "{line}");
    }
    for (key, value) in [("core.sshCommand", "explicit"), ("alias.x", "!touch F"), (key, "all")] {
        assert!(!is_allowed("ls", key, value), "{key}={value}");
    }
}

#[test]
fn members_that_an_editor_may_take_for_others_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let judge = judge("[[rules]]\naction = \"deny\"\ncommands = [\"touch\"]", dir.path());
    let file = dir.path().join("a").display().to_string();
    let refused = |method: &str, params: Value| {
        let error = judge.request(method, &params.to_string()).unwrap_err();
        assert!(error.message.contains("is no member"), "{params}: {}", error.message);
    };
    let read = json!({ "sessionId": "s", "path": file, "line": 1, "_meta": { "Path": 1 }, "x": 1 });
    judge.request("fs/read_text_file", &read.to_string()).unwrap();
    for name in ["Path", "PATH", "Content", "\u{17f}essionId"] {
        refused("fs/read_text_file", json!({ "path": file, name: "/etc/passwd" }));
        refused("fs/write_text_file", json!({ "path": file, "content": "", name: "/etc/passwd" }));
    }
    for (name, value) in [
        ("Command", json!("touch")),
        ("Args", json!(["touch"])),
        ("arg\u{17f}", json!([])),
        ("env", json!([{ "name": "A", "value": "b", "Value": "c" }])),
    ] {
        refused("terminal/create", json!({ "sessionId": "s", "command": "sh", name: value }));
    }
}

#[test]
fn a_variable_of_which_a_shell_would_make_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let judge = judge("[[rules]]\naction = \"deny\"\ncommands = [\"touch\"]", dir.path());
    let create = |command: &str, name: &str| {
        let env = json!([{ "name": name, "value": "x" }]);
        let params = json!({ "command": command, "args": ["victim"], "env": env });
        judge.request("terminal/create", &params.to_string())
    };
    for name in ["#", "# ", "", "1A", "A B", "A=B", "echo;", "A+", "A[0]", "a\n", "é", "BASH_F%%"]
    {
        let error = create("ls", name).unwrap_err();
        assert!(error.message.contains("no name of a variable"), "{name}: {}", error.message);
    }
    for name in ["A", "_", "npm_config_x", "A1"] {
        create("ls", name).unwrap();
        assert!(create("touch", name).unwrap_err().message.contains("denied by rule"));
    }
}

#[test]
fn a_program_with_a_blank_in_its_path_is_judged_as_a_program_and_as_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let work = dir.path().canonicalize().unwrap();
    let judge = judge("[[rules]]\naction = \"deny\"\ncommands = [\"touch\", \"npm *\"]", &work);
    std::fs::create_dir(work.join("a b")).unwrap();
    std::fs::write(work.join("touch"), "").unwrap();
    let is_allowed = |command: &str, args: &[&str]| {
        let params = json!({ "sessionId": "s", "command": command, "args": args });
        judge.request("terminal/create", &params.to_string()).is_ok()
    };
    let above = format!("{}/a b/..", work.display());
    for (command, args) in [
        (format!("{above}/../../bin/touch"), vec!["victim"]),
        (format!("{above}/../../bin/touch"), vec![]),
        ("a b/../touch".to_owned(), vec!["victim"]),
        ("a b/../touch".to_owned(), vec![]),
        ("a;b/../touch".to_owned(), vec!["victim"]),
        ("a=b/../touch".to_owned(), vec!["victim"]),
        ("it's/../touch".to_owned(), vec!["victim"]),
        ("ls; touch victim".to_owned(), vec![]),
        ("ls; touch".to_owned(), vec!["victim"]),
    ] {
        assert!(!is_allowed(&command, &args), "{command} {args:?}");
    }
    for (command, args) in [
        (format!("{above}/ls"), vec!["x"]),
        ("ls packages/npm && cat bin/touch".to_owned(), vec![]),
        ("cat bin/touch".to_owned(), vec![]),
        ("find src/npm -name x".to_owned(), vec![]),
        ("echo \"it's\" $HOME | wc".to_owned(), vec![]),
    ] {
        assert!(is_allowed(&command, &args), "{command} {args:?}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_for_what_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let judge = judge("", dir.path());
    let refused = |params: &str| judge.request("fs/read_text_file", params).unwrap_err().message;
    assert!(refused(r#"{"path":"/a","path":"/a"}"#).contains("a member occurs twice"));
    for params in [r#"{"path":"/a\ud83d"}"#, r#"{"path":"/a","x":1e400}"#] {
        let message = refused(params);
        assert!(message.contains("cannot be read") && !message.contains("twice"), "{message}");
    }
}

#[test]
fn what_a_careless_client_takes_for_a_method_that_is_judged_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let judge = judge("", dir.path());
    let is_refused = |method: &str| {
        let params = json!({ "path": "/a", "command": "ls" }).to_string();
        judge
            .request(method, &params)
            .is_err_and(|error| error.code == wire::codes::METHOD_NOT_FOUND)
    };
    for method in [
        "FS/read_text_file",
        "/fs/read_text_file",
        "\u{200b}fs/read_text_file",
        "fs.read_text_file",
        "fs:readTextFile",
        "fs/anything",
        " terminal/create",
        "terminal.create",
        "Terminal_Wait_For_Exit",
        "Session/Request_Permission",
        "session.request_permission",
        "/session/request_permission",
        "Elicitation/Create",
        "client/fs/read_text_file",
        "client.terminal.create",
        "client/fs/anything",
        "client/session/request_permission",
        "acp/fs/write_text_file",
        "x/fs/read_text_file",
        "editor/terminal/create",
        "writeTextFile",
        "createTerminal",
        "request_permission",
        "x/session/request_permission",
        "\u{ff46}s/read_text_file",
        "\u{1d42d}erminal/create",
        "s\u{435}ssion/request_permission",
    ] {
        assert!(is_refused(method), "{method:?}");
    }
    for method in
        ["_x/y", "myagent/foo", "fsevents/watch", "terminals/list", "_fs/watch", "client/x", ""]
    {
        judge.request(method, "{}").unwrap();
    }
}
