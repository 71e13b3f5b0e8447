use serde_json::json;

use super::*;
use crate::native::testing::{TestSession, text_of};

#[tokio::test]
async fn lines_are_numbered() {
    let stage = TestSession::new();
    stage.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    assert_eq!(
        stage.say(&tool(), json!({ "path": "a.txt" })).await,
        "     1\tone\n     2\ttwo\n     3\tthree\n"
    );
    assert_eq!(
        stage.say(&tool(), json!({ "file_path": "a.txt", "offset": "2", "limit": 1 })).await,
        "     2\ttwo\n\n(lines 2-2 of 3; go on with offset 3)"
    );
    let said = stage.say(&tool(), json!({ "path": stage.path("a.txt"), "offset": 3 })).await;
    assert!(said.ends_with("(lines 3-3 of 3, the end of the file)"), "{said}");
    assert!(stage.fail(&tool(), json!({ "path": "a.txt", "offset": 4 })).await.contains("3 lines"));

    let prepared =
        stage.prepare(&tool(), json!({ "path": "a.txt", "offset": 2, "limit": 2 })).await;
    let prepared = prepared.unwrap();
    assert_eq!(prepared.need, CallNeed::Nothing);
    assert_eq!(prepared.shown.title, "Read a.txt (2-3)");
    let location = Location { path: stage.path("a.txt"), line: Some(2) };
    assert_eq!(prepared.shown.locations, [location]);
}

#[tokio::test]
async fn what_is_read_is_bounded_and_says_how_to_go_on() {
    let stage = TestSession::new();
    stage.put("long", "ü".repeat(5_000));
    let said = stage.say(&tool(), json!({ "path": "long" })).await;
    assert!(said.contains("… (3000 more characters)"), "{said}");

    stage.put("many", "x\n".repeat(10_000));
    let said = stage.say(&tool(), json!({ "path": "many" })).await;
    assert!(said.ends_with("(lines 1-2000 of 10000; go on with offset 2001)"));

    stage.put("wide", format!("{}\n", "y".repeat(1_500)).repeat(100));
    let said = stage.say(&tool(), json!({ "path": "wide", "limit": 100_000 })).await;
    assert!(said.len() < 60_000 && said.contains("of 100; go on with offset"), "{}", said.len());

    stage.put("empty", "");
    assert!(stage.say(&tool(), json!({ "path": "empty" })).await.contains("is empty"));
    stage.put("empty", "x");
}

#[tokio::test]
async fn images_are_shown_and_large_ones_refused() {
    let stage = TestSession::new();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.extend([0; 100]);
    stage.put("a.png", &png);
    let output = stage.run(&tool(), json!({ "path": "a.png" })).await.unwrap();
    let data = STANDARD.encode(&png);
    assert_eq!(
        output.parts[1],
        MessagePart::Image { mime: "image/png".into(), data: data.clone() }
    );
    assert_eq!(output.content, [CallContent::Image { mime: "image/png".into(), data }]);
    assert!(text_of(&output).contains("108 bytes"));

    png.resize(6 << 20, 0);
    stage.put("b.png", &png);
    assert!(stage.fail(&tool(), json!({ "path": "b.png" })).await.contains("smaller"));
    stage.put("text.png", "not an image\n");
    assert!(stage.say(&tool(), json!({ "path": "text.png" })).await.contains("not an image"));
}

#[tokio::test]
async fn what_cannot_be_read_is_explained() {
    let stage = TestSession::new();
    stage.put("src/main.rs", "");
    stage.put("bin", b"\0\0");
    for (path, why) in [
        ("src", "`list`"),
        ("src/Main.rs", "`src/main.rs`"),
        ("x.png", "does not exist"),
        ("bin", "binary"),
        ("../x", "outside"),
        ("/etc/passwd", "only files inside"),
        ("~/.ssh/id_rsa", "`~`"),
        ("", "not a path"),
    ] {
        let error = stage.fail(&tool(), json!({ "path": path })).await;
        assert!(error.contains(why), "{path}: {error}");
    }
    assert!(stage.fail(&tool(), json!({})).await.contains("`path`"));
}
