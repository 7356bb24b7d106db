//! Disks that hang and clocks that are wrong, by libraries that are loaded before others.

use std::fs;
use std::path::PathBuf;

use super::flock::{Flock, Node};
use super::library::{faketime, library};

/// Disks whose syncs can hang, of all nodes that are not started yet.
pub struct Hangs(Vec<PathBuf>);

impl Hangs {
    /// Those of files whose path holds `below`.
    pub fn prepare(flock: &mut Flock, below: &str) -> Hangs {
        let directory = flock.directory.path().to_owned();
        let library = library(&directory, "stall.c");
        let flag = |node: &mut Node| {
            let flag = directory.join(format!("hang-{}", node.name));
            node.environment.extend([
                ("LD_PRELOAD".into(), library.clone().into()),
                ("STALL_FILE".into(), flag.clone().into()),
                ("STALL_BELOW".into(), below.into()),
            ]);
            flag
        };
        Hangs(flock.nodes.iter_mut().map(flag).collect())
    }

    /// From now on syncs of a node hang.
    pub fn begin(&self, node: usize) {
        fs::write(&self.0[node], "").unwrap();
    }

    /// They go on.
    pub fn end(&self, node: usize) {
        fs::remove_file(&self.0[node]).unwrap();
    }
}

/// Clocks of all nodes that are not started yet.
pub struct Clocks(Vec<PathBuf>);

impl Clocks {
    /// They are right at first.
    pub fn prepare(flock: &mut Flock) -> Clocks {
        let directory = flock.directory.path().to_owned();
        let preload = faketime(&directory);
        let file = |node: &mut Node| {
            let file = directory.join(format!("clock-{}", node.name));
            node.environment.extend([
                ("LD_PRELOAD".into(), preload.clone()),
                ("FAKETIME_TIMESTAMP_FILE".into(), file.clone().into()),
                ("FAKETIME_CACHE_DURATION".into(), "1".into()),
                ("FAKETIME_DONT_FAKE_MONOTONIC".into(), "1".into()),
                ("DONT_FAKE_MONOTONIC".into(), "1".into()),
            ]);
            file
        };
        let clocks = Clocks(flock.nodes.iter_mut().map(file).collect());
        (0..flock.nodes.len()).for_each(|node| clocks.set(node, 0));
        clocks
    }

    /// From now on the clock of a node is so many seconds ahead.
    pub fn set(&self, node: usize, ahead_s: i64) {
        // At once: libfaketime takes an empty file for 1970.
        let new = self.0[node].with_extension("new");
        fs::write(&new, format!("{ahead_s:+}s\n")).unwrap();
        fs::rename(&new, &self.0[node]).unwrap();
    }
}
