#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]
use dunlin_log::disk::RealDisk;
use dunlin_log::sim::SimDisk;

use super::*;
use crate::machine::RealMachine;

fn found(dir: &Path) -> Found {
    Mark::load(&RealDisk, &RealMachine, dir)
}

fn is_original(found: &Found) -> bool {
    matches!(
        found,
        Found::Mark {
            is_original: true,
            ..
        }
    )
}

#[test]
fn a_copy_is_told_from_what_was_written_and_what_was_moved() {
    let home = tempfile::tempdir().unwrap();
    let [shard, moved, copy] = ["shard", "moved", "copy"].map(|name| home.path().join(name));
    std::fs::create_dir(&shard).unwrap();
    assert_eq!(found(&shard), Found::None);
    let mark = Mark::now(7, &RealMachine);
    assert!(mark.boot.is_some(), "the system tells of boots");
    mark.store(&RealDisk, &RealMachine, &shard).unwrap();
    assert!(is_original(&found(&shard)));
    std::fs::rename(&shard, &moved).unwrap();
    assert!(is_original(&found(&moved)));
    std::fs::create_dir(&copy).unwrap();
    std::fs::copy(moved.join(FILE), copy.join(FILE)).unwrap();
    assert!(matches!(found(&copy), Found::Mark { .. }) && !is_original(&found(&copy)));
    // Put back in place of what was written later.
    Mark::now(8, &RealMachine)
        .store(&RealDisk, &RealMachine, &moved)
        .unwrap();
    std::fs::copy(copy.join(FILE), moved.join(FILE)).unwrap();
    assert!(!is_original(&found(&moved)));
    std::fs::write(moved.join(FILE), b"{").unwrap();
    assert_eq!(found(&moved), Found::Damaged);
}

/// A machine that tells nothing of files.
struct Machine;

impl crate::machine::Machine for Machine {
    fn is_put_back(&self, _path: &Path) -> bool {
        false
    }

    fn boot(&self) -> Option<String> {
        Some("a rather long name of a boot".into())
    }

    fn file(&self, _path: &Path) -> Option<String> {
        None
    }
}

#[test]
fn on_a_full_disk_the_mark_changes_in_its_place() {
    let disk = SimDisk::new(1);
    let dir = Path::new("/shard");
    let first = Mark {
        closed_at: Some(1 << 60),
        ..Mark::now(1, &Machine)
    };
    first.store(&disk, &Machine, dir).unwrap();
    disk.set_capacity(Some(disk.used_bytes()));
    let second = Mark::now(2, &Machine);
    second.store(&disk, &Machine, dir).unwrap();
    disk.crash();
    let is_original = true;
    let expected = Found::Mark {
        mark: second,
        is_original,
    };
    assert_eq!(Mark::load(&disk, &Machine, dir), expected);
    let other = Path::new("/other");
    first.store(&disk, &Machine, other).unwrap();
    assert_eq!(Mark::load(&disk, &Machine, other), Found::None);
}
