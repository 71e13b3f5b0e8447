use super::*;

#[test]
fn images_are_sent_as_such_and_other_files_as_links() {
    let dir = tempfile::tempdir().unwrap();
    let (image, text) = (dir.path().join("a b.png"), dir.path().join("a b.md"));
    for path in [&image, &text] {
        std::fs::write(path, "words").unwrap();
    }

    let prompt = PromptInput::attaching(&[image.clone(), text]).unwrap().with_text("look");

    assert_eq!(prompt.media, [image]);
    let [words, link] = &prompt.blocks[..] else { panic!("{prompt:?}") };
    assert_eq!(*words, json!({ "type": "text", "text": "look" }));
    assert_eq!(link["type"], "resource_link");
    assert!(link["uri"].as_str().unwrap().ends_with("/a%20b.md"));
}

#[test]
fn a_file_whose_name_says_nothing_is_called_by_what_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    // The last letter that is looked at is cut in two.
    let long = "é".repeat(8000 / 2 + 1);
    let cut = format!("x{long}");
    let files: [(&str, &[u8], &str); 7] = [
        ("notes", b"words", "text/plain"),
        ("empty.bin", b"", "text/plain"),
        ("main.rs", "fn main() {} // é".as_bytes(), "text/plain"),
        ("cut.txt", cut.as_bytes(), "text/plain"),
        ("zeros.bin", &[0; 9000], "application/octet-stream"),
        ("latin", &[b'a', 0xe9, b'b'], "application/octet-stream"),
        ("a.json", &[0], "application/json"),
    ];
    for (name, bytes, mime) in files {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let link = link(&path).unwrap();
        assert_eq!(link["mimeType"], mime, "{name}");
    }
}
