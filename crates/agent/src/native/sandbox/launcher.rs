//! The sandbox by Landlock: this binary, executed anew, restricts itself and becomes the command.
//!
//! In: a policy as its first argument, then an argv. Out: the command, or an exit code and a line
//! on stderr that say why it was not run.
//!
//! Always true: the command is executed only after every restriction is on.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError,
    RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};

use super::protected_places::ProtectedPlaces;
use super::syscall_filter::{self, FilterError, RefusedCalls};

/// Exit code of a shell for a command that it cannot run.
const NOT_RUN: u8 = 126;
/// The oldest ABI that can keep a file from being emptied.
const OLDEST: ABI = ABI::V3;
/// The first ABI that knows whom a socket in the file system belongs to.
const KNOWS_SOCKETS: ABI = ABI::V9;
/// A directory with more entries than this beside a protected place is one that nobody works in.
const MAX_RULES: usize = 20_000;
/// Devices that a command may use, because they are no way to anything.
const DEVICES: &str =
    "/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty /dev/ptmx /dev/pts";

/// The restrictions of a command: what it may change, read and reach.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LandlockPolicy {
    network: bool,
    /// Paths that may be changed, without symbolic links in them.
    writable: Vec<PathBuf>,
    /// Paths inside those that may not be changed.
    sealed: BTreeSet<PathBuf>,
    /// Paths that may not even be read; not inside the writable ones.
    hidden: BTreeSet<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
enum LaunchError {
    #[error("called without a policy and a command")]
    Usage,
    #[error("cannot read its policy")]
    Policy,
    #[error("Landlock: {0}")]
    Landlock(#[from] RulesetError),
    #[error("the kernel did not enforce it")]
    NotEnforced,
    #[error("{}: {source}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error("more than {MAX_RULES} entries beside protected places")]
    TooMany,
    #[error("capabilities: {0}")]
    Capabilities(rustix::io::Errno),
    #[error(transparent)]
    Filter(#[from] FilterError),
    #[error("`{}`: {source}", program.display())]
    Exec { program: OsString, source: io::Error },
}

/// The main function of a binary for [`LAUNCHER_VERB`](super::LAUNCHER_VERB), with the arguments
/// behind it.
/// To be called before any thread is started: a restriction is put on the thread that asks for it.
pub fn launcher_main(args: &[OsString]) -> ExitCode {
    let Err(error) = launch(args);
    // A closed stderr leaves the exit code to tell.
    let _ = writeln!(io::stderr(), "sandbox: {error}; the command was not run");
    ExitCode::from(NOT_RUN)
}

/// Whether this kernel can enforce a sandbox; nothing is restricted.
pub(super) fn is_available() -> Result<(), String> {
    let needed = AccessFs::from_all(OLDEST);
    is_known(needed).map_err(|_| "this kernel has none, or one too old (before 6.2)".to_owned())?;
    syscall_filter::program(RefusedCalls { network: true, connecting: true, local: false })
        .map(drop)
        .map_err(|error| error.to_string())
}

fn is_known(access: BitFlags<AccessFs>) -> Result<(), RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    ruleset.handle_access(access)?.create().map(drop)
}

fn launch(args: &[OsString]) -> Result<std::convert::Infallible, LaunchError> {
    let (policy, argv) = args.split_first().ok_or(LaunchError::Usage)?;
    let (program, rest) = argv.split_first().ok_or(LaunchError::Usage)?;
    let policy = LandlockPolicy::from_argument(policy).ok_or(LaunchError::Policy)?;
    policy.restrict()?;
    drop_capabilities()?;
    let source = Command::new(program).args(rest).exec();
    Err(LaunchError::Exec { program: program.clone(), source })
}

/// Root keeps what it needs to work on files of others. With the rest it could read the
/// environment of any process, and with it our keys. What is given up does not come back:
/// Landlock has promised that for all that is executed from here.
fn drop_capabilities() -> Result<(), LaunchError> {
    let kept = CapabilitySet::DAC_OVERRIDE | CapabilitySet::CHOWN | CapabilitySet::FOWNER;
    let held = capabilities(None).map_err(LaunchError::Capabilities)?;
    let kept = held.permitted & kept;
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: none };
    set_capabilities(None, sets).map_err(LaunchError::Capabilities)
}

impl LandlockPolicy {
    pub(super) fn new(
        roots: &[PathBuf],
        places: ProtectedPlaces,
        hidden: Vec<PathBuf>,
        tmp: &Path,
        network: bool,
    ) -> Self {
        let ProtectedPlaces { sealed, absent, links, .. } = places;
        let targets: Vec<_> = links.iter().filter_map(|link| link.canonicalize().ok()).collect();
        let sealed = sealed.into_iter().chain(absent).chain(links).chain(targets).collect();
        let writable = roots.iter().cloned().chain([tmp.to_path_buf()]).collect();
        Self { network, writable, sealed, hidden: hidden.into_iter().collect() }
    }

    /// The policy as one argument. Paths stand in base64, because NUL between them would not
    /// survive.
    pub(super) fn to_argument(&self) -> OsString {
        let network = if self.network { "network" } else { "alone" };
        fn list<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> String {
            let names = paths.into_iter().map(|path| STANDARD.encode(path.as_os_str().as_bytes()));
            names.collect::<Vec<_>>().join(",")
        }
        let [writable, sealed, hidden] =
            [list(&self.writable), list(&self.sealed), list(&self.hidden)];
        format!("{network};{writable};{sealed};{hidden}").into()
    }

    pub(super) fn from_argument(argument: &OsString) -> Option<Self> {
        let mut parts = argument.to_str()?.split(';');
        let network = match parts.next()? {
            "network" => true,
            "alone" => false,
            _ => return None,
        };
        let list = |text: &str| -> Option<Vec<PathBuf>> {
            let names = text.split(',').filter(|name| !name.is_empty());
            let decoded = names.map(|name| STANDARD.decode(name).ok());
            decoded.map(|name| Some(OsString::from_vec(name?).into())).collect()
        };
        let writable = list(parts.next()?)?;
        let sealed = list(parts.next()?)?.into_iter().collect();
        let hidden = list(parts.next()?)?.into_iter().collect();
        parts.next().is_none().then_some(Self { network, writable, sealed, hidden })
    }

    fn restrict(&self) -> Result<(), LaunchError> {
        let knows_sockets = is_known(AccessFs::from_all(KNOWS_SOCKETS)).is_ok();
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(OLDEST))?
            // Newer kernels can restrict more.
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(KNOWS_SOCKETS))?
            .scope(Scope::from_all(KNOWS_SOCKETS))?;
        if !self.network {
            ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
        }
        let mut rules = LandlockRules { ruleset: Some(ruleset.create()?), n: 0 };
        rules.grant(Path::new("/"), AccessFs::from_read(OLDEST), &self.hidden)?;
        for device in DEVICES.split(' ') {
            match rules.add(Path::new(device), write_access()) {
                Err(LaunchError::Path { .. }) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        for root in &self.writable {
            rules.grant(root, write_access(), &self.sealed)?;
        }
        let status = rules.ruleset.ok_or(LaunchError::NotEnforced)?.restrict_self()?;
        if status.ruleset == RulesetStatus::NotEnforced || !status.no_new_privs {
            return Err(LaunchError::NotEnforced);
        }
        // Without knowing which socket in the file system it is, none may be reached.
        let closed = RefusedCalls {
            network: !self.network,
            connecting: !self.network && !knows_sockets,
            local: self.network && !knows_sockets,
        };
        Ok(syscall_filter::install(closed)?)
    }
}

struct LandlockRules {
    ruleset: Option<RulesetCreated>,
    n: usize,
}

impl LandlockRules {
    /// Gives `access` to everything at and below `path` but what is in `spared`. A right that is
    /// given to a directory cannot be taken back below it, so one above something spared gets
    /// none.
    fn grant(
        &mut self,
        path: &Path,
        access: BitFlags<AccessFs>,
        spared: &BTreeSet<PathBuf>,
    ) -> Result<(), LaunchError> {
        if spared.contains(path) {
            return Ok(());
        }
        let failed = |source| LaunchError::Path { path: path.to_path_buf(), source };
        let found = path.symlink_metadata().map_err(failed)?;
        if found.is_symlink() {
            return Ok(());
        }
        if !found.is_dir() || !spared.iter().any(|spared| spared.starts_with(path)) {
            return self.add(path, access);
        }
        for entry in path.read_dir().map_err(failed)? {
            let entry = entry.map_err(failed)?.path();
            match self.grant(&entry, access, spared) {
                // Gone since, or not to be looked at: then nothing in it can be changed either.
                Err(LaunchError::Path { .. }) | Ok(()) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), LaunchError> {
        self.n += 1;
        if self.n > MAX_RULES {
            return Err(LaunchError::TooMany);
        }
        let failed = |errno: rustix::io::Errno| LaunchError::Path {
            path: path.to_path_buf(),
            source: errno.into(),
        };
        // The rule is for what is opened here: a link that was put there meanwhile is not
        // followed.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened: OwnedFd =
            rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(failed)?;
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&opened).map_err(failed)?.st_mode);
        let access = match kind {
            FileType::Symlink => return Ok(()),
            FileType::Directory => access,
            _ => access & AccessFs::from_file(KNOWS_SOCKETS),
        };
        if let Some(ruleset) = self.ruleset.take() {
            self.ruleset = Some(ruleset.add_rule(PathBeneath::new(opened, access))?);
        }
        Ok(())
    }
}

/// All rights but making devices, which are ways around everything here.
fn write_access() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWS_SOCKETS) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}
