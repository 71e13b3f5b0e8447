use super::*;
use crate::processes::launch::Launch;
use crate::switch::{PoolPlan, SwitchLimits};

/// No worker: `cat` would need a keeper, which is another binary. What the bus does with
/// workers is tested with the real binary.
fn without_workers() -> KernelSetup {
    let plan = PoolPlan {
        min: 0,
        start: crate::switch::StartPolicy::OnDemand,
        ..PoolPlan::fixed("a", "", 1)
    };
    KernelSetup {
        pools: vec![PoolSetup::new(plan, Launch::new("missing", "/"))],
        limits: SwitchLimits::default(),
        edges: IoLimits::default(),
        record: None,
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(soak::PATIENCE, future).await.expect("it took far too long")
}

#[tokio::test]
async fn a_port_is_a_client_like_any_other() {
    let bus = Bus::start(without_workers()).unwrap();
    let mut port = bus.port(None).await.unwrap();
    port.sender.send(b"no json").await.unwrap();
    let answer = soon(port.receiver.receive()).await.unwrap().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["error"]["code"], -32700);
    assert!(port.sender.send(b"two\nlines").await.is_err());

    let snapshot = bus.snapshot().await.unwrap();
    assert_eq!((snapshot.clients.len(), snapshot.counters.bad_lines_from_clients), (1, 1));
    soon(bus.drain()).await.unwrap();
    assert_eq!(
        soon(port.receiver.receive()).await.unwrap(),
        None,
        "a drained bus closes its clients"
    );
    assert!(matches!(bus.snapshot().await, Err(BusError::Ended)));
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_bus() {
    let bus = Bus::start(without_workers()).unwrap();
    let mut port = bus.port(None).await.unwrap();
    drop(bus);
    assert_eq!(soon(port.receiver.receive()).await.unwrap_or_default(), None);
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let nothing = KernelSetup { pools: Vec::new(), ..without_workers() };
    assert!(matches!(Bus::start(nothing.clone()), Err(BusError::Plan(_))));
    let bus = Bus::start(without_workers()).unwrap();
    assert!(matches!(bus.reload(nothing).await, Err(BusError::Plan(_))));
    assert_eq!(bus.snapshot().await.unwrap().pools.len(), 1);
    let at = ListenAddress::Tcp(([0, 0, 0, 0], 0).into());
    let open = ListenConfig { at, token: None, pool: None };
    assert!(matches!(bus.listen(open).await, Err(BusError::OpenToAll(_))));
    soon(bus.abort()).await.unwrap();
}

#[tokio::test]
async fn a_socket_file_is_private_replaced_when_stale_and_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bus.sock");
    let at = ListenAddress::Unix { path: path.clone(), mode: 0o600 };
    let listen = || ListenConfig { at: at.clone(), token: None, pool: None };
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());

    let bus = Bus::start(without_workers()).unwrap();
    bus.listen(listen()).await.unwrap();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(bus.listen(listen()).await, Err(BusError::Listen { .. })), "it is alive");
    soon(bus.drain()).await.unwrap();
    assert!(!path.exists());

    std::fs::write(&path, "not a socket").unwrap();
    let bus = Bus::start(without_workers()).unwrap();
    assert!(matches!(bus.listen(listen()).await, Err(BusError::Listen { .. })));
    assert!(path.exists());
    soon(bus.drain()).await.unwrap();
}
