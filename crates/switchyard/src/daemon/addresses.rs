//! The addresses at which other devices reach this machine.
//!
//! In: the kernel's lists of local addresses, and the address from which it would send. Out: the
//! addresses that a phone could open, that of the default route first. Nothing is sent to find out.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The local addresses are those of `/32 host LOCAL`.
const ROUTES_V4: &str = "/proc/net/fib_trie";
const ADDRESSES_V6: &str = "/proc/net/if_inet6";
/// Addresses for documentation: beyond this network, so that the default route leads there.
const BEYOND_V4: IpAddr = IpAddr::V4(Ipv4Addr::new(198, 51, 100, 1));
const BEYOND_V6: IpAddr = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1));
/// Still being tried, refused, or given up: flags of `if_inet6`.
const UNUSABLE_V6: u8 = 0x08 | 0x20 | 0x40;

/// The addresses of this machine, without loopback and link-local ones; version 4 first, which is
/// read and typed more easily.
pub(super) fn of_this_machine() -> Vec<IpAddr> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let usual = [BEYOND_V4, BEYOND_V6].into_iter().filter_map(sender_to);
    let listed = local_v4(&read(ROUTES_V4)).into_iter().map(IpAddr::V4);
    let listed = listed.chain(local_v6(&read(ADDRESSES_V6)).into_iter().map(IpAddr::V6));
    let mut all: Vec<IpAddr> = Vec::new();
    for address in usual.chain(listed).filter(is_for_others) {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all.sort_by_key(IpAddr::is_ipv6);
    all
}

fn is_for_others(address: &IpAddr) -> bool {
    let is_link_local = match address {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    !address.is_loopback() && !address.is_unspecified() && !address.is_multicast() && !is_link_local
}

/// The address from which the kernel would send there. Connecting a datagram socket sends nothing.
fn sender_to(beyond: IpAddr) -> Option<IpAddr> {
    let any: IpAddr = match beyond {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    // Any port; 9 discards.
    socket.connect((beyond, 9)).ok()?;
    Some(socket.local_addr().ok()?.ip())
}

fn local_v4(routes: &str) -> Vec<Ipv4Addr> {
    let mut at: Option<Ipv4Addr> = None;
    let mut local = Vec::new();
    for line in routes.lines().map(str::trim) {
        if let Some(address) = line.strip_prefix("|-- ") {
            at = address.parse().ok();
        } else if line.starts_with("/32 host LOCAL") {
            local.extend(at);
        }
    }
    local
}

fn local_v6(addresses: &str) -> Vec<Ipv6Addr> {
    let usable = addresses.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let address = u128::from_str_radix(words.next()?, 16).ok()?;
        let flags = u8::from_str_radix(words.nth(3)?, 16).ok()?;
        (flags & UNUSABLE_V6 == 0).then(|| Ipv6Addr::from_bits(address))
    });
    usable.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_from_what_the_kernel_tells() {
        let routes = "Main:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 0.0.0.0\n        /0 universe UNICAST\n     \
            |-- 127.0.0.1\n              /32 host LOCAL\n     |-- 192.168.1.0\n              \
            /24 link UNICAST\n           |-- 192.168.1.7\n              /32 host LOCAL\n        \
            |-- 192.168.1.255\n           /32 link BROADCAST\n";
        assert_eq!(local_v4(routes), [Ipv4Addr::LOCALHOST, Ipv4Addr::new(192, 168, 1, 7)]);
        let addresses = "fd000000000000000000000000000002 04 40 00 82     eth0\n\
            fe8000000000000000fc00fffe000001 04 40 20 80     eth0\n\
            fd000000000000000000000000000003 04 40 00 20     eth0\n\
            00000000000000000000000000000001 01 80 10 80       lo\nrubbish\n";
        let read = local_v6(addresses);
        assert_eq!(
            read.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["fd00::2", "fe80::fc:ff:fe00:1", "::1"]
        );
        let kept = read.into_iter().map(IpAddr::V6).filter(is_for_others);
        assert_eq!(kept.count(), 1);
        assert!(local_v4("").is_empty() && local_v6("x\n\n").is_empty());
    }

    #[test]
    fn whatever_is_found_is_not_for_this_machine_alone_and_found_once() {
        let all = of_this_machine();
        assert!(all.iter().all(is_for_others), "{all:?}");
        let once: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(once.len(), all.len());
    }
}
