#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::*;

fn dir() -> &'static Path {
    Path::new("/d")
}

fn file() -> &'static Path {
    Path::new("/d/file")
}

/// A disk with a durable file that holds `bytes`.
fn durable(seed: u64, bytes: &[u8]) -> SimDisk {
    let disk = SimDisk::new(seed);
    let handle = disk.open(file(), true).unwrap();
    handle.write_at(bytes, 0).unwrap();
    handle.sync().unwrap();
    disk.sync_dir(dir()).unwrap();
    disk
}

#[test]
fn synced_bytes_survive_every_crash() {
    for seed in 0..200 {
        let disk = durable(seed, &[1; 3000]);
        disk.crash();
        assert_eq!(disk.contents(file()).unwrap(), [1; 3000]);
    }
}

#[test]
fn unsynced_writes_are_lost_kept_torn_and_reordered_but_sectors_are_whole() {
    let (mut lost, mut kept, mut torn, mut reordered) = (0, 0, 0, 0);
    for seed in 0..200 {
        let disk = durable(seed, &[1; 2048]);
        let handle = disk.open(file(), false).unwrap();
        handle.write_at(&[2; 1024], 0).unwrap();
        handle.write_at(&[3; 1024], 1024).unwrap();
        assert_eq!(disk.contents(file()).unwrap()[..1024], [2; 1024]);
        disk.crash();
        let sectors: Vec<u8> = disk
            .contents(file())
            .unwrap()
            .chunks(512)
            .map(|sector| {
                assert!(sector.iter().all(|byte| *byte == sector[0]));
                sector[0]
            })
            .collect();
        lost += u32::from(sectors == [1, 1, 1, 1]);
        kept += u32::from(sectors == [2, 2, 3, 3]);
        torn += u32::from(sectors[..2] == [1, 2] || sectors[..2] == [2, 1]);
        reordered += u32::from(sectors[..2] == [1, 1] && sectors[2..] == [3, 3]);
        assert!(
            handle.read_at(&mut [0], 0).is_err(),
            "an old handle is dead"
        );
    }
    assert!(lost > 0 && kept > 0 && torn > 0 && reordered > 0);
}

#[test]
fn a_later_page_and_a_later_file_may_arrive_before_an_earlier_one() {
    let (mut pages, mut files) = (0, 0);
    for seed in 0..1000 {
        let disk = durable(seed, &[1; 8192]);
        let other = Path::new("/d/other");
        disk.open(other, true).unwrap().sync().unwrap();
        disk.sync_dir(dir()).unwrap();
        let handle = disk.open(file(), false).unwrap();
        handle.write_at(&[2; 4096], 0).unwrap();
        handle.write_at(&[3; 4096], 4096).unwrap();
        disk.open(other, false).unwrap().write_at(&[4], 0).unwrap();
        let lost = disk.crash();
        let bytes = disk.contents(file()).unwrap();
        let (first, second) = (&bytes[..4096], &bytes[4096..]);
        let arrived = disk.contents(other).unwrap() == [4];
        let whole = (first, second) == (&[2; 4096], &[3; 4096]);
        if (first, second) == (&[1; 4096], &[3; 4096]) {
            pages += 1;
            assert_eq!(lost.reordered_files, 1, "seed {seed}");
        }
        files += u64::from(arrived && !whole);
        assert_eq!(
            lost.reordered_pairs,
            u64::from(arrived && !whole),
            "seed {seed}"
        );
        assert_eq!(lost.writes > 0, !(whole && arrived), "seed {seed}");
    }
    assert!(pages > 30 && files > 100, "{pages} {files}");
}

#[test]
fn names_and_lengths_may_vanish_until_they_are_synced() {
    let (mut renamed, mut created, mut grown) = (0, 0, 0);
    for seed in 0..100 {
        let disk = durable(seed, &[1; 10]);
        disk.open(file(), false).unwrap().set_len(99).unwrap();
        disk.rename(file(), Path::new("/d/other")).unwrap();
        disk.open(Path::new("/d/new"), true).unwrap();
        disk.crash();
        let mut names = disk.list(dir()).unwrap();
        names.sort();
        match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["file"] => {}
            ["other"] => renamed += 1,
            ["new", "other"] => created += 1,
            _ => panic!("{names:?} is out of order"),
        }
        let name = if names.contains(&"file".to_owned()) {
            "file"
        } else {
            "other"
        };
        grown += u32::from(disk.contents(&dir().join(name)).unwrap().len() == 99);
    }
    assert!(renamed > 0 && created > 0 && (1..100).contains(&grown));
}

#[test]
fn a_seed_replays() {
    let run = |seed| {
        let disk = durable(seed, &[1; 4096]);
        disk.open(file(), false)
            .unwrap()
            .write_at(&[2; 4000], 50)
            .unwrap();
        disk.crash();
        disk.contents(file())
    };
    for seed in 0..20 {
        assert_eq!(run(seed), run(seed));
    }
    assert!((1..20).any(|seed| run(seed) != run(0)));
}

#[test]
fn what_a_failed_sync_lost_is_seen_but_not_durable() {
    let disk = durable(3, &[1; 512]);
    let handle = disk.open(file(), false).unwrap();
    handle.write_at(&[2; 512], 0).unwrap();
    disk.fail_sync(0);
    assert!(handle.sync().is_err());
    assert!(handle.sync().is_ok());
    assert_eq!(disk.contents(file()).unwrap(), [2; 512]);
    disk.crash();
    assert_eq!(disk.contents(file()).unwrap(), [1; 512]);
}

#[test]
fn a_full_disk_refuses_growth_only() {
    let disk = durable(4, &[1; 512]);
    disk.set_capacity(Some(600));
    let handle = disk.open(file(), false).unwrap();
    handle.write_at(&[2; 512], 0).unwrap();
    let refused = handle.allocate(700).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::StorageFull);
    assert!(handle.write_at(&[2; 512], 512).is_err());
    disk.set_capacity(None);
    handle.allocate(700).unwrap();
}

#[test]
fn a_flip_changes_one_byte_for_good() {
    let disk = durable(5, &[1; 20]);
    disk.flip(file(), 7, 0x80).unwrap();
    disk.crash();
    let bytes = disk.contents(file()).unwrap();
    assert_eq!((bytes[6], bytes[7], bytes[8]), (1, 0x81, 1));
    assert!(disk.flip(file(), 20, 1).is_err());
}

#[test]
fn stopping_lets_nothing_more_happen_until_the_crash() {
    let disk = durable(6, &[1; 512]);
    let handle = disk.open(file(), false).unwrap();
    disk.stop(1);
    handle.write_at(&[2; 512], 0).unwrap();
    assert!(handle.sync().is_err());
    assert!(disk.remove(file()).is_err());
    disk.crash();
    assert!(disk.remove(file()).is_ok());
}

#[test]
fn a_copy_put_back_is_the_disk_as_it_was_and_durable() {
    let disk = SimDisk::new(1);
    let path = Path::new("/data/a");
    let file = disk.open(path, true).unwrap();
    file.write_at(b"old", 0).unwrap();
    let copy = disk.copy(Path::new("/data"));
    file.write_at(b"new", 0).unwrap();
    disk.open(Path::new("/data/b"), true).unwrap();
    disk.put_back(&copy);
    assert!(
        file.write_at(b"late", 0).is_err(),
        "a handle of the other disk"
    );
    disk.crash();
    assert_eq!(disk.contents(path).unwrap(), b"old");
    assert!(disk.contents(Path::new("/data/b")).is_none());
    disk.wipe();
    assert_eq!(disk.used_bytes(), 0);
    assert!(disk.contents(path).is_none());
}

#[test]
fn without_descriptors_nothing_opens() {
    let disk = SimDisk::new(1);
    let path = Path::new("/data/a");
    disk.open(path, true).unwrap();
    disk.run_out_of_descriptors(true);
    assert!(disk.open(path, false).is_err());
    disk.run_out_of_descriptors(false);
    assert!(disk.open(path, false).is_ok());
}
