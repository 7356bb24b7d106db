#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn a_journal_cut_or_flipped_anywhere_keeps_the_lines_before_and_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let place = Place {
        directory: directory.path().to_path_buf(),
    };
    fs::create_dir_all(place.partial()).unwrap();
    let tally = |unit: u32| Tally {
        pairs: u64::from(unit) * 3,
        bytes: 1 << unit,
        checksum: u128::MAX - u128::from(unit),
    };
    let mut journal = Journal::open(&place).unwrap();
    for unit in [4, 1, 3] {
        journal.add(&place, unit, tally(unit)).unwrap();
    }
    drop(journal);
    let whole = fs::read(place.done()).unwrap();
    let line_ends: Vec<usize> = (1..=whole.len())
        .filter(|at| whole[at - 1] == b'\n')
        .collect();
    assert_eq!(line_ends.len(), 3);
    for at in 0..whole.len() {
        let before = line_ends.iter().filter(|end| **end <= at).count();
        let mut flipped = whole.clone();
        flipped[at] ^= 0x10;
        for bytes in [&whole[..at], &flipped] {
            fs::write(place.done(), bytes).unwrap();
            let mut journal = Journal::open(&place).unwrap();
            assert_eq!(journal.done().len(), before, "byte {at}");
            journal.add(&place, 9, tally(9)).unwrap();
            drop(journal);
            let journal = Journal::open(&place).unwrap();
            assert_eq!(journal.done().len(), before + 1);
            assert!(journal.done().iter().all(|(unit, t)| *t == tally(*unit)));
        }
    }
}
