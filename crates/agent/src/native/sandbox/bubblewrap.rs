//! Holding in by bubblewrap: a view of the file system made of mounts.
//!
//! In: roots, protected places, an argv. Out: the argv of `bwrap`.
//!
//! A network of its own does not keep a command from sockets in the file system, so those are
//! covered one by one: behind them are services that would do things for it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::places::Places;
use super::sockets;

/// Not `PATH`: a workspace may have put a directory of its own there.
const PROGRAMS: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// It takes milliseconds, or hangs.
const TRIED_WITHIN: Duration = Duration::from_secs(5);
/// Where nearly all sockets are: of containers, service managers, agents with keys.
const SOCKETS: &str = "/run";
/// What of it programs are found by.
const KEPT_OF_RUN: [&str; 2] = ["/run/current-system", "/run/wrappers"];
/// Where some systems keep the addresses of name servers.
const NAME_SERVERS: &str = "/run/systemd/resolve";
/// Root without these cannot work on files of others, such as a mounted workspace. None of them
/// undoes a mount.
const CAPABILITIES_OF_ROOT: [&str; 3] = ["CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"];

/// A `bwrap` that works.
#[derive(Debug, Clone)]
pub(super) struct Bubblewrap {
    pub(super) program: PathBuf,
}

/// What is to be seen inside.
pub(super) struct View<'a> {
    pub(super) roots: &'a [PathBuf],
    pub(super) places: &'a Places,
    pub(super) tmp: &'a Path,
    /// Directories that a command sees empty.
    pub(super) hidden: &'a [PathBuf],
}

impl Bubblewrap {
    /// Tries it: kernels and containers may forbid what it needs.
    pub(super) async fn find() -> Result<Self, String> {
        let program = PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file());
        let found = Self { program: program.ok_or("not installed")? };
        let view =
            View { roots: &[], places: &Places::default(), tmp: Path::new("/tmp"), hidden: &[] };
        let argv = found.argv(
            &view,
            false,
            Path::new("/"),
            vec!["/bin/sh".into(), "-c".into(), ":".into()],
        );
        let mut command = tokio::process::Command::new(&found.program);
        command.args(argv.iter().skip(1)).stdin(Stdio::null()).kill_on_drop(true);
        match tokio::time::timeout(TRIED_WITHIN, command.output()).await {
            Ok(Ok(output)) if output.status.success() => Ok(found),
            Ok(Ok(output)) => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(format!("does not work here ({})", said.lines().next().unwrap_or("no reason")))
            }
            Ok(Err(error)) => Err(format!("cannot be run: {error}")),
            Err(_) => Err("did not answer".into()),
        }
    }

    pub(super) fn argv(
        &self,
        view: &View<'_>,
        network: bool,
        cwd: &Path,
        argv: Vec<OsString>,
    ) -> Vec<OsString> {
        let mut all = Mounts(vec![self.program.clone().into()]);
        all.flags(&["--die-with-parent", "--unshare-pid", "--unshare-ipc", "--unshare-uts"]);
        all.flags(&["--unshare-cgroup-try", "--cap-drop", "ALL"]);
        if rustix::process::geteuid().is_root() {
            for capability in CAPABILITIES_OF_ROOT {
                all.flags(&["--cap-add", capability]);
            }
        }
        if !network {
            all.flags(&["--unshare-net"]);
        }
        all.bind("--ro-bind", "/", "/");
        all.flags(&["--dev", "/dev", "--proc", "/proc"]);
        // Root may write the kernel's settings there even without any capability; one of them
        // names a program that the kernel starts outside.
        all.flags(&["--remount-ro", "/proc", "--tmpfs", SOCKETS]);
        for path in KEPT_OF_RUN.iter().chain(network.then_some(&NAME_SERVERS)) {
            all.bind("--ro-bind-try", path, path);
        }
        all.bind("--bind", view.tmp, "/tmp");
        let is_above_root = |path: &&PathBuf| view.roots.iter().any(|root| root.starts_with(path));
        let (above, aside): (Vec<&PathBuf>, Vec<_>) = view.hidden.iter().partition(is_above_root);
        for path in above {
            all.0.extend(["--tmpfs".into(), path.into()]);
        }
        for root in view.roots {
            all.bind("--bind", root, root);
        }
        for path in aside {
            all.0.extend(["--tmpfs".into(), path.into()]);
        }
        // A directory with something mounted in it can be moved away with it; one that is
        // mounted itself cannot.
        for anchor in &view.places.anchors {
            all.bind("--bind", anchor, anchor);
        }
        for path in view.places.sealed.iter().chain(&view.places.absent) {
            all.bind("--ro-bind", path, path);
        }
        for socket in sockets::listening(view.hidden) {
            all.bind("--ro-bind", "/dev/null", &socket);
        }
        all.0.extend(["--chdir".into(), cwd.into(), "--".into()]);
        all.0.extend(argv);
        all.0
    }
}

struct Mounts(Vec<OsString>);

impl Mounts {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
        self.0.extend([how.into(), from.as_ref().into(), to.as_ref().into()]);
    }
}
