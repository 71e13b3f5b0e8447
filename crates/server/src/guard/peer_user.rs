//! Whose process is at the other end of a connection from this very machine.
//!
//! Every user of a machine can listen on its ports while nobody else does, and then hears what a
//! browser says. So what a browser says is believed only from a process of the daemon's own user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Both ends are open, in the kernel's words.
const ESTABLISHED: &str = "01";
/// The kernel's lists of connections.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Whether both ends are on one machine.
pub(super) fn is_from_here(peer: SocketAddr, local: SocketAddr) -> bool {
    let (peer, local) = (peer.ip().to_canonical(), local.ip().to_canonical());
    peer.is_loopback() || peer == local
}

/// The user that has the other end, if the kernel shows it to us.
pub(super) fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let user = look_up(peer, local)?;
    // The kernel calls a closed socket root's, and it may have been closed just as we looked. One
    // that is open afterwards was not.
    look_up(peer, local).map(|_| user)
}

fn look_up(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    LISTS.iter().find_map(|list| {
        let list = std::fs::read_to_string(list).ok()?;
        list.lines().skip(1).find_map(|line| user_in(line, peer, local))
    })
}

/// `sl local_address rem_address st queues timer retransmits uid …`; the list is theirs as well
/// as ours, and their local address is our peer.
fn user_in(line: &str, peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (from, to) = (address(fields.next()?)?, address(fields.next()?)?);
    let is_open = fields.next()? == ESTABLISHED;
    let is_it = is_open && canonical(peer) == from && canonical(local) == to;
    is_it.then(|| fields.nth(3)?.parse().ok()).flatten()
}

/// `0100007F:1D09`: each word in the machine's own order of bytes.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok();
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?].map(u32::to_ne_bytes);
            let bytes: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::V6(Ipv6Addr::from(bytes))
        }
        _ => return None,
    };
    Some(canonical(SocketAddr::new(ip, port)))
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    //! Our own connections are found, whatever they are addressed by.

    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn our_own_connections_are_ours() {
        for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            let to = match address {
                "[::1]:0" => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
                _ => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
            };
            let Ok(client) = TcpStream::connect(to) else { continue };
            let (stream, peer) = listener.accept().unwrap();
            let local = stream.local_addr().unwrap();
            assert!(is_from_here(peer, local), "{peer} {local}");
            let own = rustix::process::geteuid().as_raw();
            assert_eq!(user_of(peer, local), Some(own), "{peer} {local}");
            assert_eq!(user_of(SocketAddr::new(peer.ip(), 1), local), None);
            drop(client);
            assert_eq!(user_of(peer, local), None, "nobody has it any more");
        }
    }

    #[test]
    fn lines_of_the_kernel_are_read() {
        let line = "   3: 0100007F:A1B2 0100007F:1D09 01 00000000:00000000 00:00000000 00000000  \
                    1000        0 123 1 0000 20 4 30 10 -1";
        let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let expected = cfg!(target_endian = "little").then_some(1000);
        assert_eq!(user_in(line, at(0xa1b2), at(0x1d09)), expected);
        assert_eq!(user_in(line, at(0x1d09), at(0xa1b2)), None);
        let closed = line.replace(" 01 ", " 05 ");
        assert_eq!(user_in(&closed, at(0xa1b2), at(0x1d09)), None);
        for odd in ["", "1", "x y z", "0: 0100007F:A1B2", "0: é:A1B2 0100007F:1D09 01"] {
            assert_eq!(user_in(odd, at(1), at(2)), None, "{odd}");
        }
    }
}
