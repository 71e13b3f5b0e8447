use super::*;

#[test]
fn images_are_sent_as_such_only_to_agents_that_take_them() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a b.png");
    std::fs::write(&path, "png").unwrap();
    let can = AgentCapabilities { image: true, ..AgentCapabilities::default() };

    let image = attachment(&path, &can).unwrap();
    let link = attachment(&path, &AgentCapabilities::default()).unwrap();

    assert_eq!(image, json!({"type": "image", "mimeType": "image/png", "data": "cG5n"}));
    assert_eq!(link["type"], "resource_link");
    assert!(link["uri"].as_str().unwrap().ends_with("/a%20b.png"));
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
        let link = attachment(&path, &AgentCapabilities::default()).unwrap();
        assert_eq!(link["mimeType"], mime, "{name}");
    }
}
