use std::time::Duration;

use serde_json::json;

use super::*;
use crate::native::testing::TestSession;

fn stage() -> TestSession {
    let stage = TestSession::new();
    for (age, name) in (0..).zip(["src/new.rs", "src/deep/old.rs", "top.rs", "top.txt"]) {
        stage.put(name, "");
        let then = SystemTime::now() - Duration::from_secs(3600 * (age + 1));
        let file = std::fs::File::options().write(true).open(stage.path(name)).unwrap();
        file.set_modified(then).unwrap();
    }
    stage.put(".gitignore", "ignored\n");
    stage.put("ignored/x.rs", "");
    stage
}

#[tokio::test]
async fn names_are_found_the_newest_first() {
    let stage = stage();
    let root = stage.root.display();
    for (pattern, path, expected) in [
        ("**/*.rs", None, "src/new.rs\nsrc/deep/old.rs\ntop.rs"),
        ("*.rs", None, "src/new.rs\nsrc/deep/old.rs\ntop.rs"),
        ("src/*.rs", None, "src/new.rs"),
        ("./src/*.rs", None, "src/new.rs"),
        ("top.{rs,txt}", None, "top.rs\ntop.txt"),
        ("deep/*.rs", Some("src"), "src/deep/old.rs"),
        ("*.rs", Some("ignored"), "ignored/x.rs"),
        (&format!("{root}/src/**/*.rs"), None, "src/new.rs\nsrc/deep/old.rs"),
        ("*.none", None, "no files match `*.none`"),
    ] {
        let said = stage.say(&tool(), json!({ "pattern": pattern, "path": path })).await;
        assert_eq!(said, expected, "{pattern}");
    }
    let output = stage.run(&tool(), json!({ "pattern": "top.rs" })).await.unwrap();
    assert_eq!(output.locations, [Location { path: stage.path("top.rs"), line: None }]);
    assert!(stage.fail(&tool(), json!({ "pattern": "a[" })).await.contains("pattern"));
}

#[tokio::test]
async fn what_is_found_is_bounded() {
    let stage = TestSession::new();
    for n in 0..300 {
        stage.put(&format!("{n}.x"), "");
    }
    let output = stage.run(&tool(), json!({ "pattern": "*.x" })).await.unwrap();
    assert_eq!(output.locations.len(), 200);
    assert!(crate::native::testing::text_of(&output).contains("the newest 200 of 300;"));
}
