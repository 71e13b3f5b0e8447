use serde_json::json;

use super::*;

fn setting(cwd: &Path) -> PromptContext<'_> {
    PromptContext { cwd, roots: vec![cwd.to_owned()], images: ImageSupport::None, image_dir: None }
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn link(path: &Path) -> Value {
    json!({ "type": "resource_link", "name": "x", "uri": format!("file://{}", path.display()) })
}

#[test]
fn a_message_alone_is_itself() {
    let dir = tempfile::tempdir().unwrap();
    let prompt = compose(&[text("fix it")], &setting(dir.path())).unwrap();
    assert_eq!(prompt.text, "fix it");
}

#[test]
fn nothing_is_no_prompt() {
    let dir = tempfile::tempdir().unwrap();
    for blocks in [vec![], vec![text("")]] {
        assert!(matches!(compose(&blocks, &setting(dir.path())), Err(ComposeError::Empty)));
    }
}

#[test]
fn attached_files_lie_inside_the_roots() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (inside, outside) = (dir.path().join("a b.txt"), other.path().join("key"));
    std::fs::write(&inside, "").unwrap();
    std::fs::write(&outside, "").unwrap();
    std::os::unix::fs::symlink(&outside, dir.path().join("link")).unwrap();
    let setting = setting(dir.path());
    let uri = format!("file://{}", inside.display()).replace(' ', "%20");
    let block = json!({ "type": "resource_link", "name": "a", "uri": uri });
    let prompt = compose(&[text("see"), block], &setting).unwrap().text;
    assert!(prompt.starts_with("see\n@") && prompt.ends_with("a b.txt"), "{prompt}");
    let outside_as = |uri: String| json!({ "type": "resource_link", "name": "x", "uri": uri });
    let shown = outside.display();
    for uri in
        [format!("FILE://{shown}"), format!("file:{shown}"), format!("@{shown}"), shown.to_string()]
    {
        let error = compose(&[outside_as(uri.clone())], &setting).unwrap_err();
        assert!(matches!(error, ComposeError::Outside { .. }), "{uri}: {error}");
    }
    for path in [outside.clone(), dir.path().join("link"), dir.path().join("../..")] {
        let error = compose(&[link(&path)], &setting).unwrap_err();
        assert!(matches!(error, ComposeError::Outside { .. }), "{error}");
    }
    let error = compose(&[link(&dir.path().join("none"))], &setting).unwrap_err();
    assert!(matches!(error, ComposeError::Unreadable { .. }), "{error}");
}

#[test]
fn embedded_files_cannot_break_out_of_their_fence() {
    let dir = tempfile::tempdir().unwrap();
    let block = json!({
        "type": "resource",
        "resource": { "uri": "file:///x/a.md", "text": "```\ncode\n````\n" },
    });
    let prompt = compose(&[block], &setting(dir.path())).unwrap().text;
    assert_eq!(prompt, "/x/a.md:\n`````\n```\ncode\n````\n`````");
}

#[test]
fn images_go_the_way_the_cli_takes_them() {
    let dir = tempfile::tempdir().unwrap();
    let image = json!({ "type": "image", "mimeType": "image/gif", "data": "R0lGODlh" });
    let none = compose(std::slice::from_ref(&image), &setting(dir.path())).unwrap_err();
    assert!(matches!(none, ComposeError::NotTaken("images")));
    let protocol = PromptContext { images: ImageSupport::Protocol, ..setting(dir.path()) };
    let prompt = compose(&[text("what?"), image.clone()], &protocol).unwrap();
    assert_eq!(prompt.images.len(), 1);
    let at_path = PromptContext {
        images: ImageSupport::AtPath,
        image_dir: Some(dir.path()),
        ..setting(dir.path())
    };
    let prompt = compose(&[image], &at_path).unwrap();
    let path = prompt.text.strip_prefix('@').unwrap();
    assert_eq!(std::fs::read(path).unwrap(), b"GIF89a");
    let broken = json!({ "type": "image", "mimeType": "image/png", "data": "?!" });
    assert!(matches!(compose(&[broken], &at_path), Err(ComposeError::NotBase64)));
}
