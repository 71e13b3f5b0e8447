//! Services behind sockets in the file system cannot be reached.

use super::*;

/// Services of these tests go only while no command begins: one that vanishes between our look and
/// bubblewrap's start fails the command.
pub(super) static SERVICES: tokio::sync::RwLock<()> = tokio::sync::RwLock::const_new(());

/// A service behind two sockets in the file system: for connections, and for datagrams.
struct Service {
    place: tempfile::TempDir,
    _listener: std::os::unix::net::UnixListener,
    datagrams: std::os::unix::net::UnixDatagram,
}

/// Tries each way to it; prints those that are open, and `end`.
const TRY_SERVICE: &str = "
import socket
def tries(way, do):
    try: do(); print(way)
    except OSError: pass
kinds = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET)
for kind in kinds:
    for path in (PLACE + '/service', PLACE + '/datagrams'):
        made = (lambda: socket.socket(socket.AF_UNIX, kind),
                lambda: socket.socketpair(socket.AF_UNIX, kind)[0])
        for make in made:
            tries(f'connect {kind} {path}', lambda: make().connect(path))
            if kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
                tries(f'sendto {kind} {path}', lambda: make().sendto(b'x', path))
                tries(f'sendmsg {kind} {path}', lambda: make().sendmsg([b'x'], [], 0, path))
socket.socketpair(socket.AF_UNIX)
print('end')
";

impl Service {
    fn new() -> Self {
        // What commands see as `/tmp` is another.
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        Self::below(place)
    }

    fn below(place: tempfile::TempDir) -> Self {
        let listener = std::os::unix::net::UnixListener::bind(place.path().join("service"));
        let datagrams = std::os::unix::net::UnixDatagram::bind(place.path().join("datagrams"));
        let datagrams = datagrams.unwrap();
        datagrams.set_nonblocking(true).unwrap();
        Self { place, _listener: listener.unwrap(), datagrams }
    }

    /// Nothing of a stage gets there.
    async fn is_out_of_reach(&self, stage: &Rehearsal, name: &str) {
        let script = format!("PLACE = '{}'\n{TRY_SERVICE}", self.place.path().display());
        if let Some(said) = python(stage, &script).await {
            assert_eq!(said, "end\n", "{name}");
        }
        assert!(self.datagrams.recv(&mut [0; 9]).is_err(), "{name}");
    }

    async fn end(self) {
        let _alone = SERVICES.write().await;
        drop(self);
    }
}

/// What a script prints; none where there is nothing to run it.
async fn python(stage: &Rehearsal, script: &str) -> Option<String> {
    std::fs::write(stage.cwd().join("src/try.py"), script).unwrap();
    let finished = run_line(stage, "python3 src/try.py").await;
    if finished.end == CommandEnd::Code(127) {
        println!("SKIPPED: no python3");
        return None;
    }
    Some(finished.text)
}

#[tokio::test]
async fn landlock_closes_every_kind_of_socket() {
    for (name, sandbox) in enforcers(HELD).await.into_iter().filter(|(name, _)| *name == "Landlock")
    {
        let stage = workspace(&sandbox);
        let script = "import socket\n\
             for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):\n\
             \x20   for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):\n\
             \x20       try:\n\
             \x20           socket.socket(family, kind); print('open', family, kind)\n\
             \x20       except PermissionError: pass\n\
             print('end')\n";
        let Some(said) = python(&stage, script).await else { continue };
        assert_eq!(said, "end\n", "{name}");
    }
}

#[tokio::test]
async fn services_behind_files_are_out_of_reach_with_and_without_a_network() {
    let service = Service::new();
    for network in [false, true] {
        for (name, sandbox) in enforcers(SandboxMode::Workspace { network }).await {
            let stage = workspace(&sandbox);
            service.is_out_of_reach(&stage, name).await;
            if network {
                let script = "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n";
                let said = python(&stage, script).await;
                assert_eq!(said.unwrap_or_default(), "", "{name}");
            }
        }
    }
    service.end().await;
}

/// Commands see a `/tmp` of their own, but for a workspace in it.
#[tokio::test]
async fn services_in_a_workspace_are_out_of_reach_wherever_it_is() {
    for directory in ["/tmp", "/var/tmp"] {
        for (name, sandbox) in enforcers(HELD).await {
            let stage = workspace_in(tempfile::tempdir_in(directory).unwrap(), &sandbox);
            let service = Service::below(tempfile::tempdir_in(stage.cwd()).unwrap());
            service.is_out_of_reach(&stage, name).await;
            service.end().await;
        }
    }
}

#[tokio::test]
async fn what_is_hidden_cannot_be_read() {
    let hidden = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(hidden.path().join("token"), "secret").unwrap();
    for (name, sandbox) in enforcers(HELD).await {
        let hiding = ForbiddenDirs::new([hidden.path().to_owned()]);
        let stage = workspace(&sandbox.hiding(&hiding));
        let line = format!("cat {}/token; ls {0}; grep -r secret {0}", hidden.path().display());
        let finished = run_line(&stage, &line).await;
        assert!(!finished.text.contains("secret\n"), "{name}: {}", finished.text);
    }
}
