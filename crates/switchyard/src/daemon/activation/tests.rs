use std::io::Write as _;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Output, Stdio};

use super::*;

/// The part that runs in a process of its own, with sockets that it was started with. It
/// says what it got and accepts one connection on each.
#[test]
#[ignore = "started by the other tests, with sockets to inherit"]
fn heir() {
    let found = match inherited() {
        Ok(found) => found,
        Err(error) => return println!("error: {error}"),
    };
    println!("left: {:?}", std::env::var_os("LISTEN_FDS"));
    for (name, listeners) in [("http", &found.http), ("acp-tcp", &found.acp_tcp)] {
        for listener in listeners {
            listener.set_nonblocking(false).unwrap();
            listener.accept().unwrap();
            println!("{name}: accepted");
        }
    }
    for (name, listeners) in [("acp-unix", &found.acp_unix), ("private", &found.private)] {
        for listener in listeners {
            listener.set_nonblocking(false).unwrap();
            listener.accept().unwrap();
            println!("{name}: accepted");
        }
    }
    let n_unix = found.acp_unix.len() + found.private.len();
    println!("n: {}", found.http.len() + found.acp_tcp.len() + n_unix);
}

/// Starts the heir as a service manager would: descriptors from 3 on, and the variables.
/// The sockets arrive as stdin and stderr of a shell that puts them in their place.
fn bequeath(first: OwnedFd, second: Option<OwnedFd>, names: &str, pid: &str) -> Output {
    let n_fds = 1 + usize::from(second.is_some());
    let exe = std::env::current_exe().unwrap();
    let put = match n_fds {
        1 => "exec 3<&0 0</dev/null",
        _ => "exec 3<&0 4<&2 0</dev/null 2>/dev/null",
    };
    let script = format!("{put}; LISTEN_PID={pid} exec \"$0\" \"$@\"");
    Command::new("sh")
        .args(["-c", &script])
        .arg(exe)
        .args(["--ignored", "--exact", "daemon::activation::tests::heir", "--nocapture"])
        .env("LISTEN_FDS", n_fds.to_string())
        .env("LISTEN_FDNAMES", names)
        .stdin(first)
        .stderr(second.map_or_else(Stdio::null, Stdio::from))
        .stdout(Stdio::piped())
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn sockets_come_by_name_and_work() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("private.sock");
    let (tcp, unix) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
    // Connections wait in the listeners until somebody accepts them.
    let mut client = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
    client.write_all(b"hello").unwrap();
    let _other = UnixStream::connect(&path).unwrap();
    let output = bequeath(tcp.into(), Some(unix.into()), "http:private", "$$");
    let text = said(&output);
    assert!(text.contains("http: accepted\n"), "{text}");
    assert!(text.contains("private: accepted\n"), "{text}");
    assert!(text.contains("left: None\n"), "{text}");
}

#[test]
fn one_socket_without_a_name_is_for_http() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let _client = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
    let text = said(&bequeath(tcp.into(), None, "", "$$"));
    assert!(text.contains("http: accepted\n"), "{text}");
}

#[test]
fn sockets_of_another_process_are_left_alone() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = said(&bequeath(tcp.into(), None, "http", "1"));
    assert!(text.contains("n: 0\n"), "{text}");
}

#[test]
fn a_name_or_a_kind_that_does_not_fit_is_told() {
    let tcp = || OwnedFd::from(TcpListener::bind("127.0.0.1:0").unwrap());
    let text = said(&bequeath(tcp(), None, "gopher", "$$"));
    assert!(text.contains("error: the service manager passed a socket named `gopher`"), "{text}");
    let text = said(&bequeath(tcp(), None, "private", "$$"));
    assert!(text.contains("error: the socket `private` cannot be used"), "{text}");
    let text = said(&bequeath(tcp(), Some(tcp()), "http", "$$"));
    assert!(text.contains("error: the service manager passed 2 sockets and 1 names"), "{text}");
}
