use axum::http::Request;
use proptest::prelude::*;

use super::*;

fn local(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

impl Hosts {
    fn knows(&self, asked: &str, local: SocketAddr, is_tls: bool) -> bool {
        self.recognise(asked, local, is_tls, None).is_some()
    }
}

fn ours() -> Hosts {
    Hosts::new(&["yard.example".to_owned(), "proxy.example:8443".to_owned()]).unwrap()
}

#[test]
fn our_names_are_known_with_the_port() {
    let at = local("127.0.0.1:7433");
    for host in [
        "127.0.0.1:7433",
        "localhost:7433",
        "[::1]:7433",
        "yard.example:7433",
        "yard.example",
        "proxy.example:8443",
    ] {
        assert!(ours().knows(host, at, false), "{host}");
    }
}

#[test]
fn everything_else_is_unknown() {
    let at = local("127.0.0.1:7433");
    let hosts = [
        "",
        ":",
        ":7433",
        "evil.test",
        "evil.test:7433",
        "127.0.0.1.evil.test:7433",
        "localhost.evil.test:7433",
        "evil.test#127.0.0.1:7433",
        "127.0.0.1:7433.evil.test",
        "127.0.0.1:7433@evil.test",
        "evil.test@127.0.0.1:7433",
        "user:pass@127.0.0.1:7433",
        "localhost.:7433",
        "LOCALHOST:7433",
        "Localhost:7433",
        "127.0.0.1",
        "localhost",
        "[::1]",
        "127.0.0.1:",
        "127.0.0.1:80",
        "127.0.0.1:07433",
        "127.0.0.1:7433 ",
        " 127.0.0.1:7433",
        "127.0.0.1:7433,evil.test",
        "127.1:7433",
        "127.0.0.2:7433",
        "2130706433:7433",
        "0x7f000001:7433",
        "0177.0.0.1:7433",
        "0.0.0.0:7433",
        "[::]:7433",
        "[::ffff:127.0.0.1]:7433",
        "[::ffff:7f00:1]:7433",
        "[0:0:0:0:0:0:0:1]:7433",
        "[::1%lo]:7433",
        "::1:7433",
        "null",
        "*",
        "http://127.0.0.1:7433",
        "yard.example:80",
        "YARD.example",
        "yard.example.:7433",
        "xyard.example",
        "proxy.example",
        "proxy.example:7433",
    ];
    for host in hosts {
        assert!(!ours().knows(host, at, false), "{host}");
    }
}

#[test]
fn the_address_of_the_connection_is_known_and_default_ports_may_be_left_out() {
    let none = Hosts::new(&[]).unwrap();
    assert!(none.knows("192.0.2.7:7433", local("192.0.2.7:7433"), true));
    assert!(none.knows("192.0.2.7:7433", local("[::ffff:192.0.2.7]:7433"), true));
    assert!(none.knows("[2001:db8::7]:7433", local("[2001:db8::7]:7433"), true));
    assert!(!none.knows("192.0.2.8:7433", local("192.0.2.7:7433"), true));

    assert!(none.knows("localhost", local("127.0.0.1:80"), false));
    assert!(none.knows("localhost", local("127.0.0.1:443"), true));
    assert!(!none.knows("localhost", local("127.0.0.1:80"), true));
    assert!(!none.knows("localhost", local("127.0.0.1:443"), false));
}

#[test]
fn a_page_with_a_name_is_called_by_it() {
    let dir = tempfile::tempdir().unwrap();
    let name = |n| PageName::choose(dir.path(), &[n]).unwrap();
    let (former, page) = (name(1), name(2));
    let at = local("127.0.0.1:7433");
    let called = |host: &str| {
        let called = ours().recognise(host, at, false, Some(&page))?;
        assert_eq!(called.host(), host);
        let RequestedHost::Elsewhere { page: there, was_page, .. } = called else {
            return Some("name");
        };
        assert_eq!(there, format!("{page}:7433"));
        Some(if was_page { "former" } else { "address" })
    };
    assert_eq!(called(&format!("{page}:7433")), Some("name"));
    assert_eq!(called(&format!("{former}:7433")), Some("former"));
    for own in ["127.0.0.1:7433", "localhost:7433", "[::1]:7433"] {
        assert_eq!(called(own), Some("address"), "{own}");
    }
    for named in ["yard.example", "yard.example:7433", "proxy.example:8443"] {
        assert_eq!(called(named), Some("name"), "{named}");
    }
    let upper = page.to_string().to_ascii_uppercase();
    for other in
        [format!("{page}"), format!("{page}:1"), format!("x.{page}:7433"), format!("{upper}:7433")]
    {
        assert_eq!(called(&other), None, "{other}");
    }
    // Without a name of its own the page is where it is called.
    assert!(!ours().knows(&format!("{page}:7433"), at, false));
    let bare = ours().recognise("localhost:7433", at, false, None);
    assert_eq!(bare, Some(RequestedHost::Here("localhost:7433")));
}

#[test]
fn names_that_are_none_cannot_be_configured() {
    for name in [
        "",
        "*",
        "*.example",
        "http://a",
        "a/b",
        "a.",
        ".a",
        "a b",
        "a:b",
        "a:70000",
        "[::1",
        "u@a",
        "a:+1",
    ] {
        assert!(Hosts::new(&[name.to_owned()]).is_err(), "{name}");
    }
    for name in ["a", "Some.Example", "a_b.example:80", "192.0.2.1", "[2001:db8::1]:9"] {
        assert!(Hosts::new(&[name.to_owned()]).is_ok(), "{name}");
    }
}

fn parts(
    build: impl FnOnce(axum::http::request::Builder) -> axum::http::request::Builder,
) -> Parts {
    build(Request::builder()).body(()).unwrap().into_parts().0
}

#[test]
fn the_host_is_said_once_and_in_one_way() {
    let asked = |parts: &Parts| authority(parts).map(str::to_owned).map_err(|no| no.status);
    let two = parts(|b| b.uri("/").header("host", "localhost:1").header("host", "localhost:1"));
    assert_eq!(asked(&two), Err(400));
    assert_eq!(asked(&parts(|b| b.uri("/"))), Err(400));
    assert_eq!(asked(&parts(|b| b.uri("/").header("host", ""))), Err(400));
    let absolute = parts(|b| b.uri("http://localhost:1/").header("host", "localhost:1"));
    assert_eq!(asked(&absolute), Err(400));
    assert_eq!(asked(&parts(|b| b.uri("/").header("host", "a"))), Ok("a".into()));

    let two = Version::HTTP_2;
    assert_eq!(asked(&parts(|b| b.version(two).uri("http://a/"))), Ok("a".into()));
    let both = parts(|b| b.version(two).uri("http://a/").header("host", "b"));
    assert_eq!(asked(&both), Err(400));
}

proptest! {
    #[test]
    fn only_known_hosts_pass(asked in ".{0,40}", port in 1_u16..) {
        let at = SocketAddr::from(([127, 0, 0, 1], port));
        let known = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}"));
        prop_assert_eq!(Hosts::new(&[]).unwrap().knows(&asked, at, true), port == 443 && ["127.0.0.1", "localhost", "[::1]"].contains(&asked.as_str()) || known.contains(&asked));
    }

    #[test]
    fn spoilt_hosts_never_pass(
        host in "(127\\.0\\.0\\.1|localhost|\\[::1\\]):7433",
        at in 0_usize..20,
        extra in "[ -~]{1,3}",
    ) {
        let mut spoilt = host.clone();
        spoilt.insert_str(at.min(host.len()), &extra);
        let own = SocketAddr::from(([127, 0, 0, 1], 7433));
        prop_assume!(!["127.0.0.1:7433", "localhost:7433", "[::1]:7433"].contains(&spoilt.as_str()));
        prop_assert!(!Hosts::new(&[]).unwrap().knows(&spoilt, own, false));
    }

    #[test]
    fn parsing_never_panics_and_what_it_takes_is_a_host(text in ".{0,60}") {
        if let Some((host, port)) = split_port(&text) {
            prop_assert_eq!(host.len() + port.map_or(0, |port| port.len() + 1), text.len());
        }
        if let Ok(hosts) = Hosts::new(std::slice::from_ref(&text)) {
            let name = text.to_ascii_lowercase();
            prop_assert!(hosts.knows(&name, SocketAddr::from(([127, 0, 0, 1], 7433)), false));
        }
    }
}
