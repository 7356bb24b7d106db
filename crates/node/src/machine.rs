//! What a shard learns of the machine it runs on: whether power was lost since, whether a file is
//! the one that was written. The simulation tells its own.

use std::path::Path;

/// The machine under a shard.
pub trait Machine: Send + Sync {
    /// A name for the time since the machine was last switched on: another one means that memory
    /// which was not on a disk is gone. `None` where the system does not tell.
    fn boot(&self) -> Option<String>;

    /// A name for a file that no copy of it has, and that it keeps when it is moved or written to.
    /// `None` where the system does not tell.
    fn file(&self, path: &Path) -> Option<String>;

    /// Whether a file was put back over itself: its contents claim to be from before its last
    /// change, as after `rsync -a` or `cp -a`. What writes to it sets both times at once.
    fn is_put_back(&self, path: &Path) -> bool;
}

/// A file's times come from the clock's last tick, and a write may set them in two steps.
const SAME_CHANGE_NS: i128 = 50_000_000;

/// The machine as it is.
pub struct RealMachine;

#[allow(
    clippy::disallowed_methods,
    reason = "this is where the real system is asked; the simulation has a machine of its own"
)]
impl Machine for RealMachine {
    fn boot(&self) -> Option<String> {
        let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(told.trim().to_owned())
    }

    fn file(&self, path: &Path) -> Option<String> {
        use std::os::unix::fs::MetadataExt;
        let metadata = std::fs::metadata(path).ok()?;
        // Numbers of removed files are given out again; the time of birth tells them apart.
        let born = metadata.created().ok();
        let since = born.and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
        let born_ns = since.map_or(0, |since| since.as_nanos());
        Some(format!("{}-{born_ns}", metadata.ino()))
    }

    fn is_put_back(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let Ok(metadata) = std::fs::metadata(path) else {
            return false;
        };
        let ns = |s: i64, ns: i64| i128::from(s) * 1_000_000_000 + i128::from(ns);
        let changed = ns(metadata.ctime(), metadata.ctime_nsec());
        changed - ns(metadata.mtime(), metadata.mtime_nsec()) > SAME_CHANGE_NS
    }
}
