//! Answers of a server that says what the test wants.

use std::net::TcpListener;
use std::thread::JoinHandle;

use super::*;

/// A server that answers one connection's first request with these bytes, piece by piece.
fn serve(pieces: &'static [&'static [u8]]) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_nodelay(true).unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        for piece in pieces {
            stream.write_all(piece).unwrap();
        }
        String::from_utf8(request).unwrap()
    });
    (address, server)
}

#[test]
fn an_answer_is_read_with_its_status_and_body() {
    let pieces: &[&[u8]] =
        &[b"HTTP/1.1 201 Created\r\ncontent-le", b"ngth: 8\r\n\r\n{\"a\"", b": 1}"];
    let (address, server) = serve(pieces);
    let mut connection = Connection::open(address, Some("secret")).unwrap();

    let answer = connection.get("/v1/health").unwrap();

    assert_eq!(answer.status, 201);
    assert_eq!(answer.json().unwrap()["a"], 1);
    let request = server.join().unwrap();
    assert!(request.starts_with("GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1:"), "{request}");
    assert!(request.contains("\r\nAuthorization: Bearer secret\r\n"), "{request}");
}

#[test]
fn a_connection_that_the_server_has_closed_is_opened_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut connection = Connection::open(listener.local_addr().unwrap(), None).unwrap();
    drop(listener.accept().unwrap());
    while connection.peek().unwrap() != SocketState::End {
        std::thread::yield_now();
    }
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
        stream
    });

    assert_eq!(connection.get("/").unwrap().status, 200);
    server.join().unwrap();
}

#[test]
fn signs_of_life_do_not_pass_for_events() {
    let pieces: &[&[u8]] =
        &[b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n"];
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        for piece in pieces {
            stream.write_all(piece).unwrap();
        }
        // Until the client has had enough.
        while stream.write_all(b"3\r\n:\n\n\r\n").is_ok() {}
    });
    let mut events = Connection::open(address, None).unwrap().events("/events").unwrap();
    events.wait_at_most(Duration::from_millis(20)).unwrap();

    assert_eq!(events.next().unwrap(), StreamEvent::Quiet);
    drop(events);
    server.join().unwrap();
}

#[test]
fn an_answer_that_is_an_error_says_what_the_server_said() {
    let (address, _server) = serve(&[b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone"]);
    let mut connection = Connection::open(address, None).unwrap();

    let error = connection.get("/x").unwrap().json().unwrap_err();

    assert_eq!(error.to_string(), "404: gone");
}

#[test]
fn events_come_out_whole_whatever_the_pieces() {
    let pieces: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n: hi\n\nid:\r\n",
        b"11\r\n 1\nevent: e\ndata:\r\n6\r\n first\r\n",
        b"9\r\n\n\ndata:se\r\n7\r\ncond\r\n\n\r\n0\r\n\r\n",
    ];
    let (address, _server) = serve(pieces);
    let mut events = Connection::open(address, None).unwrap().events("/events").unwrap();

    assert_eq!(events.next().unwrap(), StreamEvent::Data(b"first"));
    assert_eq!(events.next().unwrap(), StreamEvent::Data(b"second"));
    assert!(events.next().unwrap_err().to_string().contains("ended"));
}

#[test]
fn a_head_is_known_only_when_it_is_complete() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    for end in 0..head.len() {
        assert!(Head::read(&head[..end]).unwrap().is_none(), "{end}");
    }
    let (read, n_bytes) = Head::read(&[&head[..], b"abc"].concat()).unwrap().unwrap();
    assert_eq!((read.status, n_bytes), (200, head.len()));
    assert!(Head::read(b"SSH-2.0\r\n\r\n").is_err());
}
