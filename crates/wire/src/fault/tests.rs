use super::*;

#[test]
fn an_error_in_json_is_told_in_its_own_words() {
    let told = |text: &str| message_in(text);
    let wrapped =
        r#"[{"error":{"code":429,"message":"{\"error\":{\"message\":\"no quota\"}}"}}] (429)"#;
    assert_eq!(told(wrapped).as_deref(), Some("no quota (429)"));
    let after = r#"Internal error: {"error":{"message":"bad key","status":"X"}} (-32603)"#;
    assert_eq!(told(after).as_deref(), Some("Internal error: bad key (-32603)"));
    for text in
        ["no json", "a [list of words", "{}", "{ \"a\": 1 }", "[1, 2]", "{\"message\":\"\"}"]
    {
        assert_eq!(told(text), None, "{text}");
    }
    let deep = format!("{}1{}", "[".repeat(1000), "]".repeat(1000));
    assert_eq!(told(&deep), None);
}

#[test]
fn a_missing_login_is_told_how_to_be_had() {
    let error = RpcError::new(401, "no key");
    let fault = Fault::from_agent(&error).with_login(Some("run `goose configure`"));
    assert_eq!(fault.remedy.as_deref(), Some("run `goose configure`"));
    assert_eq!(Fault::from_agent(&error).with_login(None).remedy.as_deref(), Some(LOGIN_REMEDY));
    let busy = Fault::from_agent(&RpcError::new(429, "slow down")).with_login(Some("x"));
    assert_eq!((busy.category, busy.remedy), (Category::RateLimit, None));
}

#[test]
fn a_fault_is_read_again_from_the_error_it_was_told_as() {
    let fault = Fault::new(Category::PromptTooLarge, "it is too long").remedy("say less");
    let error = RpcError::from(&fault);
    assert_eq!(
        (error.code, error.message.as_str()),
        (crate::codes::INVALID_PARAMS, "it is too long")
    );
    assert_eq!(Fault::from_agent(&error), fault);
}
