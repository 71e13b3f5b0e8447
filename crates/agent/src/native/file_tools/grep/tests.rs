use std::os::unix::fs::symlink;
use std::time::Duration;

use grep_regex::RegexMatcher;
use roots::Roots;
use serde_json::json;

use super::*;
use crate::native::testing::{TestSession, text_of};
use crate::native::tool::{CallNeed, Location};
use roots::walk::WalkStop;

fn stage() -> TestSession {
    let stage = TestSession::new();
    stage.put("src/a.rs", "fn one() {}\nlet x = 1;\nfn two() {}\n");
    stage.put("src/b.ts", "function one() {}\nFN\n");
    stage.put("ignored/c.rs", "fn hidden() {}\n");
    stage.put(".gitignore", "ignored\n");
    stage.put("binary", b"fn x\n\0\n");
    stage
}

#[tokio::test]
async fn lines_are_found() {
    let stage = stage();
    for (arguments, expected) in [
        (json!({ "pattern": "fn \\w+" }), "src/a.rs:1:fn one() {}\nsrc/a.rs:3:fn two() {}\n"),
        (json!({ "pattern": "one", "glob": "*.ts" }), "src/b.ts:1:function one() {}\n"),
        (json!({ "pattern": "one", "glob": "src/*.{rs,js}" }), "src/a.rs:1:fn one() {}\n"),
        (json!({ "pattern": "one", "path": "src/b.ts" }), "src/b.ts:1:function one() {}\n"),
        (json!({ "pattern": "fn", "path": "ignored" }), "ignored/c.rs:1:fn hidden() {}\n"),
        (json!({ "pattern": "fn", "-i": true, "path": "src/b.ts" }), "src/b.ts:2:FN\n"),
        (
            json!({ "pattern": "one()", "fixed_strings": "true", "glob": "*.rs" }),
            "src/a.rs:1:fn one() {}\n",
        ),
        (
            json!({ "pattern": "x = 1", "context": 1 }),
            "src/a.rs-1-fn one() {}\nsrc/a.rs:2:let x = 1;\nsrc/a.rs-3-fn two() {}\n",
        ),
        (json!({ "pattern": "x = 1", "-A": 1 }), "src/a.rs:2:let x = 1;\nsrc/a.rs-3-fn two() {}\n"),
        (json!({ "pattern": "one", "output_mode": "files_with_matches" }), "src/a.rs\nsrc/b.ts\n"),
        (json!({ "pattern": "fn ", "mode": "count" }), "src/a.rs:2\n"),
        (
            json!({ "pattern": "\\{\\}\nlet", "multiline": true }),
            "src/a.rs:1:fn one() {}\nsrc/a.rs:2:let x = 1;\n",
        ),
        (json!({ "pattern": "^$" }), "no matches"),
    ] {
        assert_eq!(stage.say(&tool(), arguments.clone()).await, expected, "{arguments}");
    }
    let output = stage.run(&tool(), json!({ "pattern": "x = 1" })).await.unwrap();
    assert_eq!(output.locations, [Location { path: stage.path("src/a.rs"), line: Some(2) }]);
    let asked = json!({ "pattern": "x", "path": "src", "glob": "*.rs" });
    let prepared = stage.prepare(&tool(), asked).await.unwrap();
    assert_eq!(prepared.shown.title, "Search `x` in src (*.rs)");
    assert_eq!(prepared.need, CallNeed::Nothing);
}

#[tokio::test]
async fn what_a_rule_of_the_client_denies_is_not_found() {
    use crate::native::client::ClientAbilities;
    let checks = true;
    let stage = TestSession::with(ClientAbilities {
        reads_files: true,
        checks,
        ..ClientAbilities::default()
    });
    stage.put("a", "key = 1\n");
    stage.put("b/.env", "key = s3cret\n");
    stage.client.deny(&stage.path("b/.env"));
    let asked = json!({ "pattern": "key" });

    let said = stage.say(&tool(), asked.clone()).await;
    assert_eq!(said, "a:1:key = 1\n\n(files that may not be read are left out)");
    let output = stage.run(&tool(), asked).await.unwrap();
    assert_eq!(output.locations, [Location { path: stage.path("a"), line: Some(1) }]);
    let said = stage.say(&tool(), json!({ "pattern": "key", "path": "b/.env" })).await;
    assert!(!said.contains("s3cret"), "{said}");
}

#[tokio::test]
async fn wrong_patterns_and_paths_are_explained() {
    let stage = stage();
    for (arguments, why) in [
        (json!({ "pattern": "a(" }), "fixed_strings"),
        (json!({ "pattern": "a\\nb" }), "multiline"),
        (json!({ "pattern": "a", "path": "nothing" }), "does not exist"),
        (json!({ "pattern": "a", "path": "../.." }), "outside"),
        (json!({ "pattern": "a", "glob": "[" }), "pattern of names"),
        (json!({ "pattern": "a", "mode": "other" }), "`grep`"),
        (json!({ "pattern": "(a{1000}){1000}" }), "pattern is wrong"),
    ] {
        let error = stage.fail(&tool(), arguments).await;
        assert!(error.contains(why), "{error}");
    }
}

#[tokio::test]
async fn what_is_found_is_bounded() {
    let stage = TestSession::new();
    stage.put("many", "match\n".repeat(5_000));
    let output = stage.run(&tool(), json!({ "pattern": "match" })).await.unwrap();
    assert_eq!(text_of(&output).matches("many:").count(), 100);
    assert!(text_of(&output).contains("there is more"));
    assert_eq!(output.locations.len(), 100);
    let said = stage.say(&tool(), json!({ "pattern": "match", "limit": 1_000_000 })).await;
    assert!(said.matches("many:").count() <= 2_000 && said.len() < 31_000);

    let long = format!("{}needle{}", "é".repeat(100_000), "ü".repeat(100_000));
    stage.put("many", long);
    let said = stage.say(&tool(), json!({ "pattern": "needle" })).await;
    assert!(said.contains("needle") && said.len() < 2_000, "{}", said.len());
}

#[tokio::test]
async fn nothing_outside_is_searched() {
    let stage = TestSession::new();
    let outside = stage.root.with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "needle").unwrap();
    symlink(&outside, stage.path("dir")).unwrap();
    symlink(outside.join("secret"), stage.path("file")).unwrap();
    std::process::Command::new("mkfifo").arg(stage.path("fifo")).status().unwrap();
    assert_eq!(stage.say(&tool(), json!({ "pattern": "needle" })).await, "no matches");
    for path in ["dir", "file", "dir/secret"] {
        assert!(
            stage.fail(&tool(), json!({ "pattern": "x", "path": path })).await.contains("outside")
        );
    }
}

#[test]
fn a_search_that_nobody_waits_for_reads_nothing_more() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a"), "needle\n").unwrap();
    let roots = Roots::open(&[dir.path().to_owned()], &roots::ForbiddenDirs::default()).unwrap();
    let plan = GrepPlan {
        matcher: RegexMatcher::new("needle").unwrap(),
        glob: None,
        mode: GrepMode::Content,
        is_multiline: false,
        before: 0,
        after: 0,
        denied: Vec::new(),
        max_matches: 10,
    };
    let late = WalkStop::after(Duration::ZERO);
    for (path, is_file) in [(".", false), ("a", true)] {
        let place = roots.resolve(dir.path(), path).unwrap();
        let report = scan(&roots, &place, is_file, &plan, &late, &|_| "a".into()).unwrap();
        assert!(report.text.contains("took too long"), "{}", report.text);
        assert!(report.locations.is_empty());
    }
}
