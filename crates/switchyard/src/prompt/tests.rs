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
