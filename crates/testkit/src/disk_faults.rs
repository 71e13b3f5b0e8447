//! A disk in trouble, for a program of ours: reads, writes, syncs and opens of chosen files fail.
//!
//! In: what is to fail. Out: the environment of a command, whose calls of the C library then do; what
//! fails can be changed while it runs. It takes a C compiler, as the build does, too.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The calls that fail; they can be combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FaultyCalls(u32);

impl FaultyCalls {
    pub const READS: Self = Self(1);
    pub const WRITES: Self = Self(2);
    pub const SYNCS: Self = Self(4);
    pub const OPENS: Self = Self(8);
    /// Only half of what is given is written, and no error is told.
    pub const SHORT_WRITES: Self = Self(16);
}

/// What fails, and how.
#[derive(Debug, Clone, Copy)]
pub struct DiskFault {
    pub calls: FaultyCalls,
    /// The number of the error: `EIO`, `ENOSPC`.
    pub error: i32,
    /// Each so many-th call fails.
    pub every: u32,
    /// Ends of the names of the files.
    pub files: [&'static str; 2],
}

/// A disk of which something may fail.
#[derive(Debug)]
pub struct FaultyDisk {
    plan: File,
    dir: tempfile::TempDir,
}

/// Offsets in the plan, which the library in C has mapped.
const FAILED_AT: u64 = 16;
const NAMES_AT: usize = 20;
const NAME_BYTES: usize = 32;
const PLAN_BYTES: usize = NAMES_AT + 2 * NAME_BYTES;

impl FaultyDisk {
    /// A disk on which nothing fails yet.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("plan");
        fs::write(&path, [0; PLAN_BYTES]).unwrap();
        let plan = File::options().read(true).write(true).open(path).unwrap();
        Self { plan, dir }
    }

    /// Puts the command's process on this disk.
    pub fn under(&self, command: &mut Command) {
        command.env("LD_PRELOAD", library()).env("FAULT_PLAN", self.dir.path().join("plan"));
    }

    /// From now on this fails, and nothing else.
    pub fn fail(&self, fault: &DiskFault) {
        self.heal();
        let mut plan = [0; PLAN_BYTES];
        plan[4..8].copy_from_slice(&fault.error.to_ne_bytes());
        plan[8..12].copy_from_slice(&fault.every.to_ne_bytes());
        for (name, place) in fault.files.iter().zip(plan[NAMES_AT..].chunks_mut(NAME_BYTES)) {
            place[..name.len()].copy_from_slice(name.as_bytes());
        }
        // The first word switches it on.
        self.plan.write_all_at(&plan, 0).unwrap();
        self.plan.write_all_at(&fault.calls.0.to_ne_bytes(), 0).unwrap();
    }

    /// From now on nothing fails.
    pub fn heal(&self) {
        self.plan.write_all_at(&[0; 4], 0).unwrap();
    }

    /// How many calls have failed since the last [`fail`](Self::fail).
    pub fn n_failed(&self) -> u32 {
        let mut bytes = [0; 4];
        self.plan.read_exact_at(&mut bytes, FAILED_AT).unwrap();
        u32::from_ne_bytes(bytes)
    }
}

impl Default for FaultyDisk {
    fn default() -> Self {
        Self::new()
    }
}

/// The library, compiled once and kept beside the tests.
fn library() -> &'static PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = include_str!("disk_faults.c");
        let tests = std::env::current_exe().unwrap();
        let beside = tests.parent().unwrap();
        let library = beside.join("disk_faults.so");
        let dir = tempfile::tempdir_in(beside).unwrap();
        let (input, output) = (dir.path().join("disk_faults.c"), dir.path().join("new.so"));
        fs::write(&input, source).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-Wall", "-o"]).arg(&output).arg(&input);
        let compiled = compiler.arg("-ldl").status().unwrap();
        assert!(compiled.success(), "the library of faults cannot be compiled");
        // Others may do the same at this moment.
        fs::rename(&output, &library).unwrap();
        library
    })
}
