//! The sandbox by bubblewrap: a view of the file system made of mounts.
//!
//! In: roots, protected places, an argv. Out: the argv of `bwrap`.
//!
//! A network of its own does not keep a command from sockets in the file system, so those are
//! covered one by one: behind them are services that would do things for it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::protected_places::ProtectedPlaces;
use super::sockets;

/// Not `PATH`: a workspace may have put a directory of its own there.
const PROGRAMS: [&str; 4] =
    ["/usr/bin/bwrap", "/bin/bwrap", "/usr/local/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Time for a trial: it takes milliseconds, or hangs.
const TRIED_WITHIN: Duration = Duration::from_secs(5);
/// The directory of nearly all sockets: of containers, service managers, agents with keys.
const SOCKETS: &str = "/run";
/// Directories in it in which programs are found, so that they stay visible.
const KEPT_OF_RUN: [&str; 2] = ["/run/current-system", "/run/wrappers"];
/// The directory where some systems keep the addresses of name servers.
const NAME_SERVERS: &str = "/run/systemd/resolve";
/// Directories of the system that a command does not see, but for roots in them.
const COVERED: [&str; 3] = [SOCKETS, "/tmp", "/dev"];
/// Root without these cannot work on files of others, such as a mounted workspace. None of them
/// undoes a mount.
const CAPABILITIES_OF_ROOT: [&str; 3] = ["CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER"];

/// A `bwrap` that works.
#[derive(Debug, Clone)]
pub(super) struct Bubblewrap {
    pub(super) program: PathBuf,
}

/// The view of the file system inside the sandbox.
pub(super) struct SandboxView<'a> {
    pub(super) roots: &'a [PathBuf],
    pub(super) places: &'a ProtectedPlaces,
    pub(super) tmp: &'a Path,
    /// Directories that a command sees empty, but for roots in them.
    pub(super) hidden: &'a [PathBuf],
}

impl Bubblewrap {
    /// Tries it: kernels and containers may forbid what it needs.
    pub(super) async fn find() -> Result<Self, String> {
        let program = PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file());
        let found = Self { program: program.ok_or("not installed")? };
        let view = SandboxView {
            roots: &[],
            places: &ProtectedPlaces::default(),
            tmp: Path::new("/tmp"),
            hidden: &[],
        };
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
        view: &SandboxView<'_>,
        network: bool,
        cwd: &Path,
        argv: Vec<OsString>,
    ) -> Vec<OsString> {
        let mut all = BwrapArguments(vec![self.program.clone().into()]);
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
        all.0.extend(view.mounts());
        all.0.extend(["--chdir".into(), cwd.into(), "--".into()]);
        all.0.extend(argv);
        all.0
    }
}

/// Kinds of mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MountKind {
    Writable,
    Fixed,
    Nothing,
    Empty,
}

impl SandboxView<'_> {
    /// Mounts for all that differs from the system, each directory before what is in it: so a
    /// mount never shows again what another one hides below it.
    fn mounts(&self) -> Vec<OsString> {
        let ProtectedPlaces { anchors, sealed, absent, .. } = self.places;
        let all = |paths: &[PathBuf], shown: MountKind| -> Vec<(PathBuf, MountKind)> {
            paths.iter().map(|path| (path.clone(), shown)).collect()
        };
        let is_seen = |path: &Path| {
            !COVERED.iter().any(|dir| path.starts_with(dir))
                || self.roots.iter().any(|root| path.starts_with(root))
        };
        let hidden = self.hidden.iter().filter(|path| is_seen(path)).cloned();
        // A root may be in what is hidden, and is shown with all that is in it.
        let is_shown_in = |dir: &Path, path: &Path| {
            self.roots.iter().any(|root| root.starts_with(dir) && path.starts_with(root))
        };
        let is_hidden = |path: &Path| {
            self.hidden.iter().any(|dir| path.starts_with(dir) && !is_shown_in(dir, path))
        };
        // A configuration that was named is hidden as a file.
        let (dirs, files): (Vec<PathBuf>, Vec<PathBuf>) = hidden.partition(|path| path.is_dir());
        let shown = [
            all(self.roots, MountKind::Writable),
            // A directory with something mounted in it can be moved away with it; one that is
            // mounted itself cannot.
            all(anchors, MountKind::Writable),
            all(sealed, MountKind::Fixed),
            all(absent, MountKind::Fixed),
        ];
        // Nothing is mounted again in what is hidden.
        let shown = shown.concat().into_iter().filter(|(path, _)| !is_hidden(path));
        let covered = [
            all(&sockets::listening(|path| is_seen(path) && !is_hidden(path)), MountKind::Nothing),
            all(&files, MountKind::Nothing),
            all(&dirs, MountKind::Empty),
        ];
        let mut mounts: Vec<_> = shown.chain(covered.concat()).collect();
        mounts.sort();
        let mut flags = BwrapArguments(Vec::new());
        for (path, shown) in &mounts {
            match shown {
                MountKind::Writable => flags.bind("--bind", path, path),
                MountKind::Fixed => flags.bind("--ro-bind", path, path),
                MountKind::Nothing => flags.bind("--ro-bind", "/dev/null", path),
                MountKind::Empty => flags.0.extend(["--tmpfs".into(), path.into()]),
            }
        }
        flags.0
    }
}

struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn flags(&mut self, flags: &[&str]) {
        self.0.extend(flags.iter().map(OsString::from));
    }

    fn bind(&mut self, how: &str, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) {
        self.0.extend([how.into(), from.as_ref().into(), to.as_ref().into()]);
    }
}
