use serde_json::json;

use super::*;
use crate::native::testing::TestSession;

#[tokio::test]
async fn a_directory_is_listed_as_a_tree() {
    let stage = TestSession::new();
    for name in ["src/deep/er/x.rs", "src/main.rs", "a.txt", "target/out", ".hidden"] {
        stage.put(name, "");
    }
    stage.put(".gitignore", "target\n");
    std::os::unix::fs::symlink("a.txt", stage.path("link")).unwrap();
    assert_eq!(
        stage.say(&tool(), json!({})).await,
        "./\n.gitignore\n.hidden\na.txt\nlink -> a.txt\nsrc/\n  deep/\n  main.rs\n"
    );
    let deeper = stage.say(&tool(), json!({ "path": "src", "depth": "9" })).await;
    assert_eq!(deeper, "src/\ndeep/\n  er/\n    x.rs\nmain.rs\n");
    assert_eq!(stage.say(&tool(), json!({ "path": "target" })).await, "target/\nout\n");
    let prepared = stage.prepare(&tool(), json!({ "path": stage.path("src") })).await.unwrap();
    assert_eq!((prepared.shown.title.as_str(), prepared.need), ("List src", CallNeed::Nothing));
}

#[tokio::test]
async fn a_listing_is_bounded_and_wrong_paths_are_explained() {
    let stage = TestSession::new();
    for n in 0..600 {
        stage.put(&format!("many/{n}"), "");
    }
    let said = stage.say(&tool(), json!({ "path": "many" })).await;
    assert!(said.contains("there is more") && said.lines().count() < 510);
    std::fs::create_dir(stage.path("empty")).unwrap();
    assert!(stage.say(&tool(), json!({ "path": "empty" })).await.contains("empty"));
    for (path, why) in
        [("many/1", "`read`"), ("man", "`many`"), ("..", "outside"), ("/", "outside")]
    {
        let error = stage.fail(&tool(), json!({ "path": path })).await;
        assert!(error.contains(why), "{error}");
    }
}
