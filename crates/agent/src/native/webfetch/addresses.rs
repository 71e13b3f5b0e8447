//! Tells which addresses are on the public internet.
//!
//! In: an address that a name was resolved to. Out: what it is instead, if it is not public.
//! Behind the others are a user's own machine and network, which trust whoever asks from there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Why `address` is not public.
pub(super) fn not_public(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => not_public_v4(address),
        IpAddr::V6(address) => not_public_v6(address),
    }
}

fn not_public_v4(address: Ipv4Addr) -> Option<&'static str> {
    Some(match address.octets() {
        [0, ..] => "unspecified",
        [127, ..] => "this machine",
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => "a private network",
        [100, 64..=127, ..] => "a provider's own network",
        [169, 254, ..] => "link-local",
        [192, 0, 0, _] | [192, 88, 99, _] | [198, 18..=19, ..] => "reserved",
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => "for documentation",
        [224..=239, ..] => "multicast",
        [240..=255, ..] => "reserved",
        _ => return None,
    })
}

fn not_public_v6(address: Ipv6Addr) -> Option<&'static str> {
    let low = |address: Ipv6Addr| {
        let [.., a, b, c, d] = address.octets();
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("this machine"),
        // Forms in which an IPv4 address is reached: it decides.
        [0, 0, 0, 0, 0, 0xffff, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => not_public_v4(low(address)),
        [0x2002, high, rest, ..] => {
            let [a, b] = high.to_be_bytes();
            let [c, d] = rest.to_be_bytes();
            not_public_v4(Ipv4Addr::new(a, b, c, d))
        }
        // Addresses that routers of some networks take apart.
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => not_public_v4(low(address)).or(Some("a tunnel")),
        [0x2001, 0, ..] => Some("a tunnel"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some("for documentation"),
        [0x2001, 2..=0x1ff, ..] => Some("reserved"),
        [0xfc00..=0xfdff, ..] => Some("a private network"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("a private network"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        // All that is public today.
        [0x2000..=0x3fff, ..] => None,
        _ => Some("reserved"),
    }
}

#[cfg(test)]
mod tests;
