use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use super::*;

fn v4(n: u32) -> Peer {
    Peer::Net(SocketAddr::from((Ipv4Addr::from(n), 1)))
}

fn is_counted(failures: &Failures, peer: &Peer, now: Instant) -> bool {
    failures.note(peer, now) == FailureVerdict::Counted
}

#[test]
fn ten_a_minute_are_counted_and_the_rest_told_to_wait() {
    let (failures, start) = (Failures::default(), Instant::now());
    for _ in 0..10 {
        assert!(is_counted(&failures, &v4(1), start));
    }
    let later = start + Duration::from_secs(20);
    let first = FailureVerdict::Limited { retry_after: 40, is_first: true };
    assert_eq!(failures.note(&v4(1), later), first);
    let next = FailureVerdict::Limited { retry_after: 40, is_first: false };
    assert_eq!(failures.note(&v4(1), later), next);
    assert!(is_counted(&failures, &v4(2), later), "another address has its own count");
    assert!(is_counted(&failures, &v4(1), start + WINDOW));
}

#[test]
fn the_addresses_of_one_network_count_together() {
    let (failures, now) = (Failures::default(), Instant::now());
    let host = |n: u16| {
        let ip = Ipv6Addr::new(0x2001, 0xdb8, 0, 7, n, n, n, n);
        Peer::Net(SocketAddr::from((ip, n)))
    };
    for n in 0..10 {
        assert!(is_counted(&failures, &host(n), now));
    }
    assert!(!is_counted(&failures, &host(11), now));

    let mapped = Peer::Net(SocketAddr::from((Ipv4Addr::from(9).to_ipv6_mapped(), 1)));
    assert_eq!(mapped.key(), v4(9).key());
    assert_ne!(Peer::Unix { uid: 1 }.key(), Peer::Unix { uid: 2 }.key());
}

#[test]
fn memory_is_bounded_and_strangers_beyond_share_a_count() {
    let (failures, now) = (Failures::default(), Instant::now());
    let max = u32::try_from(MAX_PEERS).unwrap();
    for n in 0..max {
        assert!(is_counted(&failures, &v4(n), now));
    }
    let n_counted = (max..max + 100).filter(|n| is_counted(&failures, &v4(*n), now)).count();
    assert_eq!(n_counted, 10);
    assert_eq!(failures.known.lock().unwrap().peers.len(), MAX_PEERS);

    assert!(is_counted(&failures, &v4(max + 200), now + WINDOW), "room is made by time");
    assert_eq!(failures.known.lock().unwrap().peers.len(), 1);
}
