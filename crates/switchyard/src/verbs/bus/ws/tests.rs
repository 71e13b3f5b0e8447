use super::*;

#[test]
fn this_machine_has_few_names() {
    for name in ["localhost", "LOCALHOST:9001", "127.0.0.1", "127.0.0.1:80", "[::1]:9001", "[::1]"]
    {
        assert!(is_loopback_name(name), "{name}");
    }
    for name in [
        "evil.example",
        "localhost.evil.example",
        "10.0.0.1:9001",
        "",
        "[::2]:1",
        "127.0.0.1.evil.example",
    ] {
        assert!(!is_loopback_name(name), "{name}");
    }
}

fn request(headers: &[(&str, &str)]) -> Request {
    let mut request = Request::new(());
    for (name, value) in headers {
        let name = header::HeaderName::from_bytes(name.as_bytes()).unwrap();
        request.headers_mut().append(name, value.parse().unwrap());
    }
    request
}

#[test]
fn without_a_token_pages_of_other_hosts_are_refused() {
    let is_refused = |headers: &[(&str, &str)], has_token| {
        check_handshake(&request(headers), Response::new(()), has_token).is_err()
    };
    assert!(!is_refused(&[("host", "127.0.0.1:9001")], false));
    assert!(!is_refused(&[("host", "localhost"), ("origin", "http://localhost:5173")], false));
    assert!(is_refused(&[("host", "localhost"), ("origin", "https://evil.example")], false));
    assert!(is_refused(&[("host", "localhost"), ("origin", "null")], false));
    // A name that somebody else let point to this machine.
    assert!(is_refused(&[("host", "rebound.example:9001")], false));
    assert!(!is_refused(&[("host", "yard.example"), ("origin", "https://yard.example")], true));
}

#[test]
fn the_token_may_come_with_the_handshake() {
    let said = |headers: &[(&str, &str)]| handshake_token(&request(headers)).map(str::to_owned);
    let token = Some("0123456789abcdef".to_owned());
    assert_eq!(said(&[("authorization", "Bearer 0123456789abcdef")]), token);
    let protocols = "acp, switchyard.token.0123456789abcdef";
    assert_eq!(said(&[("sec-websocket-protocol", protocols)]), token);
    assert_eq!(said(&[("authorization", "Basic 0123456789abcdef")]), None);
    assert_eq!(said(&[]), None);
}

#[test]
fn one_of_the_protocols_is_chosen_rather_not_the_token() {
    let asked = request(&[("sec-websocket-protocol", "switchyard.token.0123456789abcdef, acp")]);
    let response = check_handshake(&asked, Response::new(()), true).unwrap();
    assert_eq!(response.headers()[header::SEC_WEBSOCKET_PROTOCOL], "acp");
    let asked = request(&[("sec-websocket-protocol", "switchyard.token.0123456789abcdef")]);
    let response = check_handshake(&asked, Response::new(()), true).unwrap();
    let chosen = &response.headers()[header::SEC_WEBSOCKET_PROTOCOL];
    assert_eq!(chosen, "switchyard.token.0123456789abcdef");
}

#[test]
fn a_message_over_several_lines_becomes_one() {
    assert_eq!(one_line("{\n  \"a\": \"b\\n\"\r\n}"), b"{   \"a\": \"b\\n\"  }");
}
