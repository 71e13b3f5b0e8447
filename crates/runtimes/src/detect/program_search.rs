//! The search for an agent's program.
//!
//! In: a definition and the machine. Out: a path and how it was found, or what is wrong. The
//! order is: override by variable, configuration, `PATH`, well-known directories. A wrong path that
//! the user named is an error, never skipped in silence.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::Machine;
use super::detected_agent::{Diagnosis, DiagnosisReason, ProgramSource};
use crate::definition::RuntimeDefinition;

/// The kind of file at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathState {
    Executable,
    Nothing,
    NotAFile,
    NotExecutable,
    BrokenLink,
}

/// A program and how it was found, or what is wrong.
type Located = Result<(PathBuf, ProgramSource), Diagnosis>;

pub(super) fn locate(definition: &RuntimeDefinition, machine: &Machine) -> Located {
    if let Some(wanted) = machine.variable(&definition.bin_variable()) {
        return overridden(definition, machine, &PathBuf::from(wanted));
    }
    if let Some(wanted) = &definition.path {
        return configured(definition, machine, Path::new(wanted));
    }
    search(definition, machine)
}

fn overridden(definition: &RuntimeDefinition, machine: &Machine, wanted: &Path) -> Located {
    let variable = definition.bin_variable();
    let path = machine.expand(wanted);
    let problem = match path_state(&path) {
        _ if !path.is_absolute() => "is not an absolute path",
        PathState::Executable => return Ok((path, ProgramSource::Override)),
        PathState::Nothing => "does not exist",
        PathState::NotAFile => "is not a file",
        PathState::NotExecutable => "is not executable",
        PathState::BrokenLink => "is a link to nothing",
    };
    Err(Diagnosis::new(
        DiagnosisReason::OverrideInvalid,
        format!("{variable} names {}, which {problem}", wanted.display()),
        format!("set {variable} to the absolute path of {}, or unset it", definition.name),
    ))
}

fn configured(definition: &RuntimeDefinition, machine: &Machine, wanted: &Path) -> Located {
    let path = machine.expand(wanted);
    let what = format!("the configuration names {}", path.display());
    let remedy = format!("correct `command` of agent `{}` in the configuration", definition.id);
    match path_state(&path) {
        PathState::Executable => Ok((path, ProgramSource::Configuration)),
        PathState::Nothing | PathState::NotAFile => Err(Diagnosis::new(
            DiagnosisReason::NotOnPath,
            format!("{what}, where no program is"),
            remedy,
        )),
        other => Err(faulty(&path, other)),
    }
}

fn search(definition: &RuntimeDefinition, machine: &Machine) -> Located {
    let extra: Vec<PathBuf> = match &machine.home {
        Some(home) => definition.extra_dirs.iter().map(|dir| home.join(dir)).collect(),
        None => Vec::new(),
    };
    let on_path = machine.path.iter().map(|dir| (dir, ProgramSource::Path));
    let elsewhere = extra.iter().chain(&machine.well_known);
    let dirs: Vec<_> =
        on_path.chain(elsewhere.map(|dir| (dir, ProgramSource::WellKnown))).collect();
    let mut fault = None;
    for bin in &definition.bins {
        for (dir, by) in &dirs {
            let path = dir.join(bin);
            match path_state(&path) {
                PathState::Executable => return Ok((path, *by)),
                PathState::Nothing | PathState::NotAFile => {}
                other => {
                    fault.get_or_insert_with(|| faulty(&path, other));
                }
            }
        }
    }
    Err(fault.unwrap_or_else(|| {
        let names: Vec<_> = definition.bins.iter().map(|bin| format!("`{bin}`")).collect();
        let message = format!("{} is not in any of {} directories", names.join(" or "), dirs.len());
        let variable = definition.bin_variable();
        let remedy = format!("{}; if it is installed, set {variable}", definition.install);
        Diagnosis::new(DiagnosisReason::NotOnPath, message, remedy)
    }))
}

fn faulty(path: &Path, stands: PathState) -> Diagnosis {
    let shown = path.display();
    match stands {
        PathState::NotExecutable => Diagnosis::new(
            DiagnosisReason::NotExecutable,
            format!("{shown} is not executable"),
            format!("chmod +x {shown}, or install it again"),
        ),
        _ => Diagnosis::new(
            DiagnosisReason::ShimBroken,
            format!("{shown} is a link to something that is gone"),
            format!("remove {shown} and install it again"),
        ),
    }
}

/// A program of that name beside `program`, or else on the search path.
pub(super) fn companion(program: &Path, bin: &str, machine: &Machine) -> Option<PathBuf> {
    let beside = program.parent().map(Path::to_path_buf);
    // An installed link may point into the package, where its companions are too.
    let real = fs::canonicalize(program).ok();
    let packaged = real.as_deref().and_then(Path::parent).map(Path::to_path_buf);
    let dirs = beside.into_iter().chain(packaged);
    dirs.chain(machine.path.iter().cloned())
        .chain(machine.well_known.iter().cloned())
        .map(|dir| dir.join(bin))
        .find(|path| path_state(path) == PathState::Executable)
}

fn path_state(path: &Path) -> PathState {
    match fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => PathState::NotAFile,
        Ok(metadata) if metadata.permissions().mode() & 0o111 == 0 => PathState::NotExecutable,
        Ok(_) => PathState::Executable,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => PathState::NotExecutable,
        Err(_) if fs::symlink_metadata(path).is_ok() => PathState::BrokenLink,
        Err(_) => PathState::Nothing,
    }
}
