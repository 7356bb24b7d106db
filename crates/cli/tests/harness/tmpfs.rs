//! A small disk.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A mounted tmpfs; dropping it unmounts it.
pub struct Tmpfs {
    path: PathBuf,
}

impl Tmpfs {
    /// Mounts one on `path`. `None`, with the reason printed, where that is not allowed.
    pub fn mount(path: &Path, size_mib: u32) -> Option<Tmpfs> {
        std::fs::create_dir_all(path).unwrap();
        let output = Command::new("mount")
            .args([
                "-t",
                "tmpfs",
                "-o",
                &format!("size={size_mib}m"),
                "dunlin-test",
            ])
            .arg(path)
            .output()
            .ok()?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            println!("skipped: a tmpfs cannot be mounted here: {}", reason.trim());
            return None;
        }
        Some(Tmpfs {
            path: path.to_owned(),
        })
    }

    /// Takes up to `bytes` of the disk with a file of the test's own.
    pub fn fill(&self, bytes: usize) {
        std::fs::write(self.ballast(), vec![1; bytes]).unwrap();
    }

    /// Gives that back.
    pub fn empty(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.path.join("ballast")
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily: a process about to be reaped may still have files open.
        let _ = Command::new("umount").arg("-l").arg(&self.path).status();
    }
}
