//! What a question says in whatever shape, and what it does not say, is no way around a rule.

use serde_json::json;

use super::tests::{judge, question};
use super::*;

#[test]
fn what_a_rule_would_deny_is_not_allowed_because_it_is_not_named() {
    let pushing = "[[rules]]\naction = \"deny\"\ncommands = [\"git push*\"]";
    let secret = "[[rules]]\naction = \"deny\"\nkinds = [\"edit\"]\npaths = [\"secret/**\"]";
    let path = "/home/me/repo/secret/a";
    for (rules, call, answer) in [
        (pushing, json!({"kind": "execute", "title": "`git push`"}), "ask"),
        (
            pushing,
            json!({"kind": "execute", "rawInput": {"cmd": "ls", "command": "git push"}}),
            "deny",
        ),
        (pushing, json!({"kind": "execute", "rawInput": {"command": "git\0 push"}}), "deny"),
        (pushing, json!({"kind": "execute", "rawInput": {"command": ""}}), "ask"),
        (pushing, json!({"kind": "execute", "rawInput": {"command": " \t\n"}}), "ask"),
        (pushing, json!({"kind": "execute", "rawInput": {"command": ["", " "]}}), "ask"),
        (pushing, json!({"kind": "read", "content": [{"type": "terminal"}]}), "ask"),
        (pushing, json!({"kind": "execute", "rawInput": {"command": ["git push origin"]}}), "deny"),
        (pushing, json!({"kind": "other", "rawInput": {"query": "git push"}}), "allow"),
        (pushing, json!({"kind": "search", "rawInput": {"text": "git push"}}), "allow"),
        (pushing, json!({"kind": "other", "rawInput": {"code": "it's (python)"}}), "allow"),
        (pushing, json!({"kind": "other", "rawInput": {"run": "tests", "line": 5}}), "allow"),
        (pushing, json!({"kind": "other", "rawInput": {"args": ["git", "push"]}}), "ask"),
        (pushing, json!({"kind": "other", "rawInput": {"in": {"run": "git push"}}}), "ask"),
        (
            pushing,
            json!({"kind": "execute", "rawInput": {"command": "grep", "args": ["git push"]}}),
            "allow",
        ),
        (
            pushing,
            json!({"kind": "execute", "rawInput": {"command": "ls", "description": "git push"}}),
            "allow",
        ),
        (pushing, json!({"kind": "read", "rawInput": {"path": "x"}}), "allow"),
        (secret, json!({"kind": "edit"}), "ask"),
        (secret, json!({"kind": "other", "content": [{"type": "diff", "path": path}]}), "deny"),
        (secret, json!({"locations": [{"path": path}]}), "deny"),
        (secret, json!({"kind": "delete", "rawInput": {"path": "secret"}}), "deny"),
        (secret, json!({"kind": "move", "rawInput": {"path": "."}}), "deny"),
        (secret, json!({"kind": "delete", "rawInput": {"path": "other"}}), "allow"),
        (secret, json!({"kind": "read", "rawInput": {"path": path}}), "allow"),
    ] {
        assert_eq!(judge(rules, PermissionMode::Auto, &call), answer, "{call}");
    }
}

#[test]
fn a_second_command_beside_the_first_is_not_passed_over() {
    let rules = "[[rules]]\naction = \"deny\"\ncommands = [\"git push*\"]";
    for (member, answer) in [
        ("cmdline", "deny"),
        ("script", "deny"),
        // `ls cd x && git push`
        ("args", "deny"),
        ("code", "ask"),
        ("line", "ask"),
        ("exec", "ask"),
        ("run", "ask"),
        ("input", "ask"),
        ("text", "ask"),
        ("query", "ask"),
    ] {
        let mut call = json!({"kind": "execute", "rawInput": {"command": "ls"}});
        call["rawInput"][member] = json!("cd x && git push");
        assert_eq!(judge(rules, PermissionMode::Auto, &call), answer, "{call}");
    }
}

#[test]
fn a_rule_allows_a_command_in_the_directories_of_the_session_alone() {
    let rules = "[[rules]]\naction = \"allow\"\ncommands = [\"cargo test*\"]";
    for member in ["cwd", "workdir", "working_directory", "workingDirectory", "dir", "directory"] {
        for (directory, answer) in [
            ("/home/me/repo", "allow"),
            ("/home/me/repo/crates/x", "allow"),
            ("crates/x", "allow"),
            (".", "allow"),
            ("/tmp/evil", "ask"),
            ("/home/me/repository", "ask"),
            ("../evil", "ask"),
            ("~", "ask"),
            ("~/x", "ask"),
        ] {
            let mut call = json!({"kind": "execute", "rawInput": {"command": "cargo test"}});
            call["rawInput"][member] = json!(directory);
            assert_eq!(judge(rules, PermissionMode::Ask, &call), answer, "{call}");
        }
    }
}

#[test]
fn a_rule_allows_a_command_only_if_it_is_nothing_else() {
    let rules = "[[rules]]\naction = \"allow\"\ncommands = [\"cargo test*\"]";
    for (input, kind, answer) in [
        (json!({"command": "cargo test -p x"}), "execute", "allow"),
        (json!({"command": ["cargo", "test"]}), "execute", "allow"),
        (json!({"command": "cargo test", "cmd": "rm -rf /"}), "execute", "ask"),
        (json!({"command": "cargo test", "env": {"RUSTC_WRAPPER": "x"}}), "execute", "ask"),
        (json!({"command": "cargo test", "input": {"command": "evil"}}), "execute", "ask"),
        (json!({"command": "cargo test", "path": "/etc/passwd"}), "delete", "ask"),
        (json!({"command": "cargo test", "path": "/etc/passwd"}), "execute", "ask"),
        (json!({"command": "cargo test", "description": "x", "timeout": 5}), "execute", "allow"),
        (json!({"command": "cargo test", "dangerouslyDisableSandbox": true}), "execute", "ask"),
        (json!({"command": "cargo test", "args": "; rm -rf x"}), "execute", "ask"),
        (json!({"command": ["cargo", "test", {"x": 1}]}), "execute", "ask"),
    ] {
        let call = json!({"kind": kind, "rawInput": input});
        assert_eq!(judge(rules, PermissionMode::Ask, &call), answer, "{call}");
    }
}

#[test]
fn what_only_says_that_it_reads_is_not_read_only() {
    let allowing = |kinds: &str| format!("[[rules]]\naction = \"allow\"\nkinds = [{kinds}]");
    let reading = allowing(r#""read", "search", "think""#);
    for (more, call) in [
        ("edit", json!({"content": [{"type": "diff", "path": "a", "newText": "x"}]})),
        ("edit", json!({"rawInput": {"path": "a", "new_string": "x"}})),
        ("edit", json!({"rawInput": {"path": "a", "content": "x"}})),
        ("edit", json!({"rawInput": {"patch": "*** Begin Patch\n*** Add File: a\n+x\n"}})),
        ("execute", json!({"content": [{"type": "terminal", "terminalId": "t"}]})),
        ("execute", json!({"rawInput": {"command": "ls"}})),
        ("execute", json!({"rawInput": {"command": ""}})),
        ("execute", json!({"rawInput": {"code": "import os"}})),
        ("execute", json!({"rawInput": {"input": {"Code": ["import os"]}}})),
        ("execute", json!({"rawInput": "{\"code\":\"import os\"}"})),
        ("edit", json!({"rawInput": {"edits": [{"a": 1}]}})),
    ] {
        for kind in ["read", "search", "think"] {
            let mut call = call.clone();
            call["kind"] = json!(kind);
            assert_eq!(judge("", PermissionMode::ReadOnly, &call), "deny", "{call}");
            assert_eq!(judge("", PermissionMode::AcceptEdits, &call), "ask", "{call}");
            assert_eq!(judge(&reading, PermissionMode::Ask, &call), "ask", "{call}");
            let both = allowing(&format!("\"{kind}\", \"{more}\""));
            assert_eq!(judge(&both, PermissionMode::Ask, &call), "allow", "{call}");
        }
    }
    for input in [
        json!({"path": "a", "limit": 5}),
        json!({"path": "a", "code": 5, "edits": []}),
        json!({"path": "a", "code": "", "query": "code"}),
    ] {
        let read = json!({"kind": "read", "rawInput": input});
        assert_eq!(judge(&reading, PermissionMode::Ask, &read), "allow", "{read}");
    }
    // The kind is told later than the input.
    let mut facts = ToolFacts::default();
    facts.learn(&json!({"rawInput": {"code": "import os"}}));
    facts.learn(&json!({"kind": "read"}));
    assert!(facts.is_run);
    let policy = PermissionPolicy { rules: Rules::approve_reads(), mode: PermissionMode::Ask };
    let edit = json!({"kind": "read", "content": [{"type": "diff", "path": "a"}]});
    assert_eq!(policy.judge(&question(&edit)), PolicyVerdict::Ask);
    let delete = json!({"kind": "delete", "content": [{"type": "diff", "path": "a"}]});
    assert_eq!(judge(&allowing("\"delete\""), PermissionMode::Ask, &delete), "allow");
}

#[test]
fn several_paths_in_one_text_are_seen() {
    let rules = "[[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]";
    for (paths, answer) in [
        ("secret/x", "deny"),
        ("a,secret/x", "deny"),
        ("a, secret/x", "deny"),
        ("a\nsecret/x", "deny"),
        ("a:secret/x", "deny"),
        ("['a','secret/x']", "deny"),
        ("a,b", "allow"),
    ] {
        for member in ["paths", "files", "file_paths"] {
            let call = json!({"kind": "read", "rawInput": {member: paths}});
            assert_eq!(judge(rules, PermissionMode::Auto, &call), answer, "{call}");
        }
    }
    let edit = json!({"kind": "edit", "rawInput": {"paths": "a:/etc/x", "newText": "x"}});
    assert_eq!(judge("", PermissionMode::AcceptEdits, &edit), "ask");
}

#[test]
fn what_says_that_it_is_a_question_to_the_person_is_no_way_around_a_rule() {
    let rules = "[[rules]]\naction = \"deny\"\ncommands = [\"rm\"]\n\
                 [[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]\n\
                 [[rules]]\naction = \"deny\"\nkinds = [\"delete\"]";
    let fetching = json!({"kind": "fetch", "_meta": {"switchyard": {"isQuestion": true}}});
    let no_fetching = "[[rules]]\naction = \"deny\"\nkinds = [\"fetch\"]";
    assert_eq!(judge(no_fetching, PermissionMode::Auto, &fetching), "deny");
    let asked = |mode: PermissionMode, mut call: serde_json::Value| {
        call["_meta"] = json!({"switchyard": {"isQuestion": true}});
        judge(rules, mode, &call)
    };
    for mode in [
        PermissionMode::Ask,
        PermissionMode::Auto,
        PermissionMode::AcceptEdits,
        PermissionMode::ReadOnly,
    ] {
        for call in [
            json!({"kind": "execute", "rawInput": {"command": "rm -rf x"}}),
            json!({"rawInput": {"command": "rm -rf x"}}),
            json!({"kind": "read", "rawInput": {"path": "secret/key"}}),
            json!({"kind": "delete"}),
        ] {
            assert_eq!(asked(mode, call.clone()), "deny", "{mode:?} {call}");
        }
        let plain = json!({"kind": "other", "rawInput": {"questions": [{"question": "Red?"}]}});
        assert_eq!(asked(mode, plain), "ask", "{mode:?}");
        let file = json!({"kind": "other", "rawInput": {"options": [{"label": "./src/a"}]}});
        assert_eq!(asked(mode, file), "ask", "{mode:?}");
    }
    let run = json!({"kind": "execute", "rawInput": {"command": "ls"}});
    let edit = json!({"kind": "edit", "rawInput": {"path": "a"}});
    let fetch = json!({"kind": "fetch", "rawInput": {"url": "https://example.com"}});
    for call in [run, edit, fetch] {
        assert_eq!(asked(PermissionMode::ReadOnly, call.clone()), "deny", "{call}");
        assert_eq!(asked(PermissionMode::Auto, call.clone()), "ask", "{call}");
    }
}

#[test]
fn input_that_is_written_as_text_is_read_as_far_as_it_is_json() {
    let rules = "[[rules]]\naction = \"deny\"\ncommands = [\"rm\"]\n\
                 [[rules]]\naction = \"deny\"\npaths = [\"secret/**\"]";
    for (kind, text) in [
        ("other", r#"{"command":"rm x","cut":"\ud83d"}"#),
        ("other", r#"{"command":"rm x","n":1e400}"#),
        ("read", r#"{"where":"./secret/key","n":1e400}"#),
    ] {
        for input in [json!(text), json!({ "input": text })] {
            let call = json!({"kind": kind, "rawInput": input});
            let answer = judge(rules, PermissionMode::Auto, &call);
            assert!(answer == "deny" || kind == "other" && answer == "ask", "{answer}: {call}");
        }
    }
}

#[test]
fn what_is_called_reading_and_is_a_command_or_a_fetch_is_denied_in_read_only() {
    for call in [
        json!({"kind": "read", "rawInput": "rm x"}),
        json!({"kind": "think", "rawInput": ["rm", "x"]}),
        json!({"kind": "search", "rawInput": {"url": "https://example.com"}}),
        json!({"kind": "search", "rawInput": {"urls": ["HTTPS://example.com"]}}),
    ] {
        assert_eq!(judge("", PermissionMode::ReadOnly, &call), "deny", "{call}");
    }
    for call in [
        json!({"kind": "read", "rawInput": "src/main.rs"}),
        json!({"kind": "think", "rawInput": "a note to myself"}),
        json!({"kind": "search", "rawInput": {"pattern": "a b", "path": "/home/me/repo"}}),
        json!({"kind": "search", "rawInput": {"query": "https://example.com"}}),
        json!({"kind": "read", "rawInput": {"url": "file:///home/me/repo/a"}}),
    ] {
        assert_eq!(judge("", PermissionMode::ReadOnly, &call), "allow", "{call}");
    }
}

#[test]
fn a_tool_that_is_known_to_write_a_file_is_an_edit_even_if_its_kind_says_nothing() {
    let root = tempfile::tempdir().unwrap();
    let roots = [root.path().canonicalize().unwrap()];
    let inside = roots[0].join("a.txt").display().to_string();
    let tools = ["developer: write", "write"].map(str::to_owned);
    let allows = |title: &str, kind: &str, input: &serde_json::Value| {
        let call = json!({"title": title, "kind": kind, "rawInput": input});
        let params = json!({"toolCall": call, "options": []}).to_string();
        let question =
            PolicyQuestion::read(&params, None, "goose", &roots).noting_known_edit(&tools, &call);
        let policy =
            PermissionPolicy { mode: PermissionMode::AcceptEdits, ..PermissionPolicy::default() };
        matches!(policy.judge(&question), super::PolicyVerdict::Allow(_))
    };
    let written = json!({"path": inside, "content": "x"});
    assert!(allows("Developer: Write", "other", &written));
    assert!(allows("developer: write", "", &written));
    assert!(allows(&format!("write: {inside}"), "other", &written));
    let relative = json!({"path": "a.txt", "content": "x"});
    assert!(allows("write · a.txt", "other", &relative));

    // Other tools, other kinds, other places, and inputs that may do more.
    assert!(!allows("github: create file", "other", &written));
    assert!(!allows("writer", "other", &written));
    assert!(!allows("write: something else", "other", &written));
    assert!(!allows("developer: write", "execute", &written));
    assert!(!allows("developer: write", "fetch", &written));
    assert!(!allows("developer: write", "other", &json!({"path": "/etc/passwd", "content": "x"})));
    assert!(!allows("developer: write", "other", &json!({"path": "../x", "content": "x"})));
    assert!(!allows("developer: write", "other", &json!({"path": ".git/hooks/x", "content": "x"})));
    let commands = json!({"path": inside, "content": "x", "command": "rm -rf /"});
    assert!(!allows("developer: write", "other", &commands));
    assert!(!allows(
        "developer: write",
        "other",
        &json!({"path": inside, "content": {"run": "x"}})
    ));
    assert!(!allows("developer: write", "other", &json!({"path": inside})));
    assert!(!allows("developer: write", "other", &json!({"content": "x"})));
}
