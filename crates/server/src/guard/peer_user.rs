//! The user whose process is at the other end of a connection from this very machine.
//!
//! Every user of a machine can listen on its ports while nobody else does, and then receives what a
//! browser sends, cookies included. So logins are accepted only from a process of the daemon's own
//! user.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Both ends are open, in the kernel's words.
const ESTABLISHED: &str = "01";
/// The kernel's lists of connections.
const LISTS: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];

/// Where these are 1, programs can bind addresses of other machines.
const NONLOCAL_BIND: [&str; 2] =
    ["/proc/sys/net/ipv4/ip_nonlocal_bind", "/proc/sys/net/ipv6/ip_nonlocal_bind"];

/// The user at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PeerUser {
    /// A user of this machine.
    Local(u32),
    /// An unknown user of this machine, whose process may have ended.
    Unknown,
    /// A client on another machine.
    Remote,
}

impl PeerUser {
    /// A program chooses from which of the machine's addresses it comes, so the kernel is asked
    /// about every peer.
    pub(super) fn of(peer: SocketAddr, local: SocketAddr) -> Self {
        match user_of(peer, local) {
            Some(user) => Self::Local(user),
            None if is_from_here(peer, local) => Self::Unknown,
            None => Self::Remote,
        }
    }
}

/// Whether both ends are on one machine, by their addresses.
fn is_from_here(peer: SocketAddr, local: SocketAddr) -> bool {
    let ends = [peer, local].map(|end| end.ip().to_canonical());
    ends[0] == ends[1] || ends.iter().any(IpAddr::is_loopback) || is_of_this_machine(peer)
}

/// Whether an address is one of this machine's: others cannot be had here. Where they can, this
/// is not known.
fn is_of_this_machine(address: SocketAddr) -> bool {
    let mut address = address;
    address.set_port(0);
    UdpSocket::bind(address).is_ok() && !allows_nonlocal_bind()
}

fn allows_nonlocal_bind() -> bool {
    let is_on = |path: &&str| std::fs::read_to_string(path).is_ok_and(|on| on.trim() != "0");
    NONLOCAL_BIND.iter().any(is_on)
}

/// The user of the socket at the other end, if the kernel shows it to us.
fn user_of(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
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
            let own = rustix::process::geteuid().as_raw();
            assert_eq!(PeerUser::of(peer, local), PeerUser::Local(own), "{peer} {local}");
            let nobody = SocketAddr::new(peer.ip(), 1);
            assert_eq!(PeerUser::of(nobody, local), PeerUser::Unknown);
            drop(client);
            assert_eq!(PeerUser::of(peer, local), PeerUser::Unknown, "nobody has it any more");
        }
    }

    #[test]
    fn whoever_comes_from_another_address_of_the_machine_is_known() {
        // For examples, so that nobody has it.
        let elsewhere = SocketAddr::from(([203, 0, 113, 9], 5000));
        let lan = SocketAddr::from(([198, 51, 100, 7], 7433));
        assert_eq!(PeerUser::of(elsewhere, lan), PeerUser::Remote);
        // Nobody out there can reach this one.
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, 7433));
        assert_eq!(PeerUser::of(elsewhere, here), PeerUser::Unknown);

        let Some(ip) = second_address() else { return };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listener.local_addr().unwrap();
        let _client = connected(SocketAddr::new(ip, 0), to);
        let (stream, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), ip);
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(PeerUser::of(peer, stream.local_addr().unwrap()), PeerUser::Local(own));
        // Also if it is gone, and we were reached from outside.
        let gone = SocketAddr::new(ip, 1);
        let is_unknown = PeerUser::of(gone, lan) == PeerUser::Unknown;
        assert!(is_unknown || allows_nonlocal_bind());
    }

    /// The one by which this machine would reach others, if it has one. Nothing is sent.
    fn second_address() -> Option<IpAddr> {
        let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
        socket.connect("203.0.113.9:9").ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback())
    }

    fn connected(from: SocketAddr, to: SocketAddr) -> std::os::fd::OwnedFd {
        use rustix::net::{AddressFamily, SocketType, bind, connect, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&socket, &from).unwrap();
        connect(&socket, &to).unwrap();
        socket
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
