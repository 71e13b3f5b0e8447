//! A real file system that is soon full: a small tmpfs, where that is permitted.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Mounted until dropped.
#[derive(Debug)]
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one of `size` (`8m`) over a directory; nothing where this user may not.
    pub fn mount(over: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(over).unwrap();
        let options = format!("size={size},mode=0700");
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(over).output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        is_mounted.then(|| Self(over.to_owned()))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Takes all the room that is left.
    pub fn fill(&self) {
        let filler = File::create(self.filler()).unwrap();
        std::io::copy(&mut std::io::repeat(0), &mut &filler).unwrap_err();
    }

    /// Takes all but so many bytes.
    pub fn fill_but(&self, n_bytes: u64) {
        self.fill();
        let filler = File::options().write(true).open(self.filler()).unwrap();
        filler.set_len(filler.metadata().unwrap().len().saturating_sub(n_bytes)).unwrap();
    }

    /// Gives back what was taken.
    pub fn free(&self) {
        fs::remove_file(self.filler()).unwrap();
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
