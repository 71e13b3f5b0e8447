use super::show_table;

#[test]
fn a_table_is_shown_without_its_secrets_and_can_be_read_again() {
    let text = r#"
        model = "a/b"
        checks = ["make", "true"]
        [sandbox]
        workspace = true
        [providers."odd name"]
        base_url = "https://me:s3cret@example.org/v1?key=s3cret"
        api_key = "s3cret"
        temperature = 1.0
        headers = { X-Team = "s3cret" }
        [mcp.files]
        command = "mcp-files"
        env = { TOKEN = "s3cret" }
    "#;
    let mut shown = String::new();
    show_table(&mut shown, "native", &toml::from_str(text).unwrap());

    assert!(!shown.contains("s3cret"), "{shown}");
    let again: toml::Table = toml::from_str(&shown).unwrap();
    let native = &again["native"];
    assert_eq!(native["checks"][0].as_str(), Some("make"));
    assert_eq!(native["sandbox"]["workspace"].as_bool(), Some(true));
    let provider = &native["providers"]["odd name"];
    assert_eq!(provider["base_url"].as_str(), Some("https://example.org/v1"));
    assert_eq!(provider["temperature"].as_float(), Some(1.0));
    assert!(shown.contains("# headers: [\"X-Team\"]") && shown.contains("# env: [\"TOKEN\"]"));
}
