use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::guard::Peer;
use crate::limits::HttpLimits;

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

#[test]
fn what_other_machines_reach_needs_tls_or_force() {
    for loopback in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
        assert!(check_bind(address(loopback), None, false).is_ok(), "{loopback}");
    }
    for exposed in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[2001:db8::1]:1", "[::ffff:192.0.2.1]:1"]
    {
        let error = check_bind(address(exposed), None, false).unwrap_err();
        assert!(error.to_string().contains("--insecure"), "{error}");
        assert!(check_bind(address(exposed), None, true).is_ok(), "{exposed}");
    }
}

#[tokio::test]
async fn an_exposed_bind_is_refused_before_the_socket_is_opened() {
    assert!(matches!(
        BoundSocket::tcp(address("0.0.0.0:0"), None, false).await,
        Err(ListenError::Exposed(_))
    ));
    let handed = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    assert!(matches!(
        BoundSocket::inherited_tcp(handed, None, false),
        Err(ListenError::Exposed(_))
    ));
}

#[tokio::test]
async fn both_addresses_of_this_machine_are_taken_or_none() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        // Then nobody else can have it either.
        return;
    }
    for host in ["127.0.0.1", "0.0.0.0"] {
        let at = |port: u16| address(&format!("{host}:{port}"));
        let both = BoundSocket::tcp_for_browsers(at(0), None, true).await.unwrap();
        let bound: Vec<_> = both.iter().filter_map(BoundSocket::local_addr).collect();
        let port = bound[0].port();
        assert_eq!(bound, [at(port), address(&format!("[::1]:{port}"))]);
        let numbers: Vec<_> = both.iter().filter_map(BoundSocket::socket_number).collect();
        assert!(numbers.len() == 2 && numbers[0] != numbers[1], "{numbers:?}");

        // Somebody else has one of them.
        let other = std::net::TcpListener::bind("[::1]:0").unwrap();
        let port = other.local_addr().unwrap().port();
        let refused = BoundSocket::tcp_for_browsers(at(port), None, true).await;
        let error = refused.unwrap_err().to_string();
        assert!(error.starts_with("another program listens on [::1]:"), "{error}");
    }
}

fn why(error: &ListenError) -> String {
    assert!(matches!(error, ListenError::Refused { .. }), "{error}");
    error.to_string()
}

#[tokio::test]
async fn a_private_socket_is_ours_alone_and_goes_with_its_door() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run/daemon.sock");
    let bound = BoundSocket::unix(&path, UnixKind::Private).await.unwrap();

    let metadata = std::fs::symlink_metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let parent = std::fs::metadata(dir.path().join("run")).unwrap();
    assert_eq!(parent.permissions().mode() & 0o777, 0o700);

    drop(bound);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_path_longer_than_a_sockets_address_works() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d".repeat(120)).join("daemon.sock");
    let _bound = BoundSocket::unix(&path, UnixKind::Private).await.unwrap();
    assert!(path.exists());
}

#[tokio::test]
async fn the_socket_of_the_dead_is_taken_over_and_that_of_the_living_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let dead = std::os::unix::net::UnixListener::bind(&path).unwrap();
    drop(dead);
    assert!(path.exists());

    let living = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap();
    let error = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap_err();
    assert!(why(&error).contains("another process"), "{error}");
    assert!(path.exists());
    drop(living);
}

#[tokio::test]
async fn a_living_socket_with_a_full_queue_is_not_taken_for_dead() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let socket = tokio::net::UnixSocket::new_stream().unwrap();
    socket.bind(&path).unwrap();
    let _busy = socket.listen(0).unwrap();
    let mut waiting = Vec::new();
    for _ in 0..8 {
        let connecting = tokio::net::UnixStream::connect(&path);
        let Ok(Ok(stream)) =
            tokio::time::timeout(std::time::Duration::from_millis(50), connecting).await
        else {
            break;
        };
        waiting.push(stream);
    }
    let error = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap_err();
    assert!(why(&error).contains("another process"), "{error}");
}

#[tokio::test]
async fn nothing_but_a_socket_is_ever_removed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    std::fs::write(&path, "precious").unwrap();
    let error = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap_err();
    assert!(why(&error).contains("no socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");

    let link = dir.path().join("l");
    symlink(&path, &link).unwrap();
    assert!(BoundSocket::unix(&link, UnixKind::Shared).await.is_err());
    assert!(link.is_symlink() && path.exists());
}

#[tokio::test]
async fn directories_of_others_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("real");
    std::fs::create_dir(&real).unwrap();
    let link = dir.path().join("link");
    symlink(&real, &link).unwrap();
    let error = BoundSocket::unix(&link.join("s"), UnixKind::Private).await.unwrap_err();
    assert!(why(&error).contains("symbolic link"), "{error}");

    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o777)).unwrap();
    let error = BoundSocket::unix(&real.join("s"), UnixKind::Shared).await.unwrap_err();
    assert!(why(&error).contains("everybody"), "{error}");
    let error = BoundSocket::unix(&real.join("s"), UnixKind::Private).await.unwrap_err();
    assert!(why(&error).contains("everybody"), "{error}");
    // What was there before us stays as it is, like `/tmp`.
    for mode in [0o1777, 0o755, 0o700] {
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(mode)).unwrap();
        let _bound = BoundSocket::unix(&real.join("s"), UnixKind::Private).await.unwrap();
        let left = std::fs::metadata(&real).unwrap().permissions().mode() & 0o7777;
        assert_eq!(left, mode, "{left:o}");
    }

    if rustix::process::geteuid().is_root() {
        let foreign = dir.path().join("foreign");
        std::fs::create_dir(&foreign).unwrap();
        let stranger = rustix::process::Uid::from_raw(12_345);
        rustix::fs::chown(&foreign, Some(stranger), None).unwrap();
        let error = BoundSocket::unix(&foreign.join("s"), UnixKind::Private).await.unwrap_err();
        assert!(why(&error).contains("another user"), "{error}");
        // Nor one of our own below theirs.
        let own = foreign.join("own");
        std::fs::create_dir(&own).unwrap();
        let error = BoundSocket::unix(&own.join("s"), UnixKind::Private).await.unwrap_err();
        assert!(why(&error).contains("a directory above"), "{error}");
    } else {
        assert!(
            BoundSocket::unix(Path::new("/tmp/switchyard-test.sock"), UnixKind::Shared)
                .await
                .is_err()
        );
    }
}

#[tokio::test]
async fn a_door_does_not_remove_the_socket_of_its_successor() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let first = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    let _second = BoundSocket::unix(&path, UnixKind::Shared).await.unwrap();
    drop(first);
    assert!(path.exists());
}

#[tokio::test]
async fn peers_are_what_the_kernel_says() {
    let dir = tempfile::tempdir().unwrap();
    let uid = rustix::process::geteuid().as_raw();
    let path = dir.path().join("s");
    let listener = Listener::new(
        BoundSocket::unix(&path, UnixKind::Shared).await.unwrap(),
        HttpLimits::default(),
    );
    let _client = tokio::net::UnixStream::connect(&path).await.unwrap();
    assert_eq!(listener.next().await.peer(), Peer::Unix { uid });

    let handed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let bound = BoundSocket::inherited_tcp(handed, None, false).unwrap();
    let address = bound.local_addr().unwrap();
    let listener = Listener::new(bound, HttpLimits::default());
    let client = tokio::net::TcpStream::connect(address).await.unwrap();
    let (_stream, arrival) = listener.next().await.secure().await.unwrap();
    assert_eq!(arrival.peer, Peer::Net(client.local_addr().unwrap()));
    assert_eq!(arrival.local, Some(address));
}
