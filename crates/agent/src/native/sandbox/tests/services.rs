//! Services behind sockets in the file system cannot be reached.

use std::path::PathBuf;

use super::*;

/// Services of these tests go only while no command begins: one that vanishes between our look and
/// bubblewrap's start fails the command.
pub(super) static SERVICES: tokio::sync::RwLock<()> = tokio::sync::RwLock::const_new(());

/// A service behind a socket in the file system.
struct Service {
    place: tempfile::TempDir,
    _listener: std::os::unix::net::UnixListener,
}

impl Service {
    fn new() -> Self {
        // What commands see as `/tmp` is another.
        let place = tempfile::tempdir_in("/var/tmp").unwrap();
        let listener = std::os::unix::net::UnixListener::bind(place.path().join("service"));
        Self { place, _listener: listener.unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.place.path().join("service")
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
    if finished.end == End::Code(127) {
        println!("SKIPPED: no python3");
        return None;
    }
    Some(finished.text)
}

#[tokio::test]
async fn landlock_closes_every_kind_of_socket_and_services_behind_files() {
    let service = Service::new();
    for (name, sandbox) in enforcers(HELD).await.into_iter().filter(|(name, _)| *name == "Landlock")
    {
        let stage = workspace(&sandbox);
        let script = format!(
            "import socket\n\
             for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET):\n\
             \x20   for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):\n\
             \x20       try:\n\
             \x20           socket.socket(family, kind); print('open', family, kind)\n\
             \x20       except PermissionError: pass\n\
             socket.socketpair(socket.AF_UNIX)\n\
             try:\n\
             \x20   socket.socket(socket.AF_UNIX).connect('{}'); print('service')\n\
             except PermissionError: pass\n\
             print('end')\n",
            service.path().display()
        );
        let Some(said) = python(&stage, &script).await else { continue };
        assert_eq!(said, "end\n", "{name}");
    }
    service.end().await;
}

#[tokio::test]
async fn with_a_network_services_behind_files_are_still_out_of_reach() {
    let service = Service::new();
    for (name, sandbox) in enforcers(Mode::Workspace { network: true }).await {
        let stage = workspace(&sandbox);
        let script = format!(
            "import socket\n\
             socket.socketpair(socket.AF_UNIX)\n\
             socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n\
             try:\n\
             \x20   socket.socket(socket.AF_UNIX).connect('{}'); print('service')\n\
             except OSError: pass\n\
             print('end')\n",
            service.path().display()
        );
        let Some(said) = python(&stage, &script).await else { continue };
        assert_eq!(said, "end\n", "{name}");
    }
    service.end().await;
}

#[tokio::test]
async fn services_behind_files_and_what_is_hidden_cannot_be_reached() {
    let service = Service::new();
    let hidden = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::write(hidden.path().join("token"), "secret").unwrap();
    for (name, sandbox) in enforcers(HELD).await {
        let hiding = Forbidden::new([hidden.path().to_owned()]);
        let stage = workspace(&sandbox.hiding(&hiding));
        let script = format!(
            "import socket\n\
             try:\n\
             \x20   socket.socket(socket.AF_UNIX).connect('{}'); print('service')\n\
             except OSError: print('closed')\n",
            service.path().display()
        );
        let Some(said) = python(&stage, &script).await else { continue };
        assert_eq!(said, "closed\n", "{name}");
        let line = format!("cat {}/token; ls {0}; grep -r secret {0}", hidden.path().display());
        let finished = run_line(&stage, &line).await;
        assert!(!finished.text.contains("secret\n"), "{name}: {}", finished.text);
    }
    service.end().await;
}
