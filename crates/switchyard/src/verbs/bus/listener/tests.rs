use super::*;

fn parse(text: &str) -> Result<BusListener, String> {
    let table = toml::from_str::<ListenTable>(text);
    table.map_err(|error| error.message().to_owned()).and_then(BusListener::try_from)
}

#[test]
fn each_kind_of_listener_is_read() {
    let tcp = parse("tcp = '127.0.0.1:9000'\npool = 'a'").unwrap();
    assert_eq!(tcp.at, BusAddress::Tcp("127.0.0.1:9000".parse().unwrap()));
    assert_eq!(tcp.pool.as_deref(), Some("a"));
    assert!(tcp.at.needs_token() && tcp.at.is_local());

    let ws = parse("ws = '[::]:0'").unwrap();
    assert_eq!(ws, BusListener { at: BusAddress::Ws("[::]:0".parse().unwrap()), pool: None });
    assert!(ws.at.needs_token() && !ws.at.is_local());

    let unix = parse("unix = 'x.sock'").unwrap().below(Path::new("/run"));
    assert_eq!(unix.at, BusAddress::Unix("/run/x.sock".into(), 0o600));
    assert!(!unix.at.needs_token() && unix.at.is_local());
    assert_eq!(unix.at.to_string(), "unix /run/x.sock");

    let shared = parse("unix = '/run/y.sock'\nmode = '0660'").unwrap().below(Path::new("/x"));
    assert_eq!(shared.at, BusAddress::Unix("/run/y.sock".into(), 0o660));
}

#[test]
fn a_listener_is_one_thing() {
    for text in ["", "pool = 'a'", "tcp = '127.0.0.1:1'\nws = '127.0.0.1:2'"] {
        let why = parse(text).unwrap_err();
        assert_eq!(why, "a listener has exactly one of `tcp`, `unix` and `ws`", "{text}");
    }
    let why = parse("tcp = '127.0.0.1:1'\nmode = '0600'").unwrap_err();
    assert_eq!(why, "`mode` is for unix sockets");
    let why = parse("tcp = '127.0.0.1:1'\ntoken = 'secret'").unwrap_err();
    assert!(why.starts_with("unknown field `token`"), "{why}");
}

#[test]
fn a_mode_is_octal_and_lets_the_owner_in() {
    for text in ["", "rw", "0400", "0060", "1777", "0o600", "888"] {
        let why = parse(&format!("unix = 'x'\nmode = '{text}'")).unwrap_err();
        assert!(why.contains("is no mode for a socket"), "{text}: {why}");
    }
}

#[test]
fn addresses_are_numbers_or_localhost() {
    assert_eq!(parse_address("localhost:80"), Ok("127.0.0.1:80".parse().unwrap()));
    assert_eq!(parse_address("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
    for text in ["", "9000", ":9000", "127.0.0.1", "example.com:80", "127.0.0.1:99999", "::1:80x"] {
        let why = parse_address(text).unwrap_err();
        assert!(why.contains("write it like \"127.0.0.1:9000\""), "{text}: {why}");
    }
}
