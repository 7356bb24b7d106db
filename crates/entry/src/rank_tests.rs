#![allow(clippy::unwrap_used, clippy::expect_used)]
use proptest::prelude::*;

use super::*;

const NOW: u64 = 1_000;
const LIMIT: Version = Version(NOW + 10);
/// Seventy years on.
const FAR: u64 = 9_000;

fn stamp(version: u64) -> Stamp {
    Stamp::new(Version(version), Origin(1))
}

fn plain(version: u64) -> Rank {
    stamp(version).into()
}

fn replacing(version: u64, replaced: Stamp, is_mend: bool) -> Rank {
    let replaces = Replaces {
        stamp: replaced,
        is_mend,
    };
    Rank::new(stamp(version), Some(replaces))
}

fn write(version: u64, replaced: u64) -> Rank {
    replacing(version, stamp(replaced), false)
}

fn mend(version: u64, replaced: u64) -> Rank {
    replacing(version, stamp(replaced), true)
}

#[test]
fn a_mended_key_is_written_over_and_over() {
    let rising = [
        ("an ordinary value", plain(NOW)),
        ("a write that met the one below too early", plain(NOW + 5)),
        ("stored far ahead", plain(FAR)),
        ("its mend", mend(NOW + 1, FAR)),
        ("a second mend, from two at once", mend(NOW + 3, FAR)),
        (
            "a write, stamped before the second mend",
            write(NOW + 2, FAR),
        ),
        ("the next write", write(NOW + 4, FAR)),
        ("another value stored further ahead", plain(FAR + 1)),
        ("its mend", mend(NOW + 1, FAR + 1)),
        ("a write above it", write(NOW + 2, FAR + 1)),
        ("a write when that time has come", plain(FAR + 2)),
        ("a later one that did not know it", plain(FAR + 3)),
    ];
    for (at, (_, below)) in rising.iter().enumerate() {
        for (what, above) in &rising[at + 1..] {
            assert!(below < above, "{what}");
        }
        assert!(rising[..at].iter().all(|(_, lower)| lower < below));
    }
}

#[test]
fn without_replacing_anything_the_stamp_decides() {
    let stamps = [(1, 1), (1, 2), (2, 0), (u64::MAX, 0), (u64::MAX, u64::MAX)];
    let ranks = stamps.map(|(version, origin)| {
        let stamp = Stamp::new(Version(version), Origin(origin));
        assert_eq!(Rank::from(stamp).stamp(), stamp);
        assert_eq!(Rank::from(stamp).replaces(), None);
        Rank::from(stamp)
    });
    assert!(ranks.is_sorted());
}

#[test]
fn what_a_write_needs_to_stand_above() {
    let replaces = |version, is_mend| Replaces {
        stamp: stamp(version),
        is_mend,
    };
    let next = Replaces {
        stamp: Stamp::new(Version(FAR), Origin(2)),
        is_mend: true,
    };
    let table = [
        ("ordinary", plain(NOW), Above::Later(Version(NOW))),
        ("ahead, not too far", plain(LIMIT.0), Above::Later(LIMIT)),
        (
            "too far ahead",
            plain(LIMIT.0 + 1),
            Above::Mended(replaces(LIMIT.0 + 1, true)),
        ),
        (
            "mended",
            mend(NOW, FAR),
            Above::Replacing(replaces(FAR, false), Version(NOW)),
        ),
        (
            "written since",
            write(NOW + 7, FAR),
            Above::Replacing(replaces(FAR, false), Version(NOW + 7)),
        ),
        (
            "too far ahead once more, above what it replaces",
            write(FAR + 1, FAR),
            Above::Mended(replaces(FAR + 1, true)),
        ),
        (
            "too far ahead once more, below what it replaces",
            write(FAR - 1, FAR),
            Above::Mended(next),
        ),
        (
            "mended, and the time has come",
            mend(NOW, NOW + 9),
            Above::Later(Version(NOW + 9)),
        ),
    ];
    for (what, held, expected) in table {
        assert_eq!(held.above(LIMIT), expected, "{what}");
    }
}

#[test]
fn the_end_of_time_can_be_mended_and_nothing_overflows() {
    let end = Stamp::new(Version(u64::MAX), Origin(u64::MAX));
    let mended = replacing(NOW, end, true);
    assert!(mended > end.into());
    assert!(matches!(mended.above(LIMIT), Above::Replacing(..)));
    // There is nothing above the last stamp: who wrote so twice is not mended.
    let again = Rank::new(Stamp::new(Version(u64::MAX), Origin(0)), mended.replaces());
    let Above::Mended(with) = again.above(LIMIT) else {
        panic!("{again:?}")
    };
    assert_eq!(with.stamp, end);
}

fn any_rank() -> impl Strategy<Value = Rank> {
    let replaced = prop::option::of((1u64..4, 0u64..3, any::<bool>()));
    (0u64..4, 0u64..3, replaced, any::<bool>()).prop_map(|(version, origin, replaced, ends)| {
        let replaces = replaced.map(|(version, origin, is_mend)| Replaces {
            stamp: Stamp::new(Version(version), Origin(origin)),
            is_mend,
        });
        let stamp = Stamp::new(Version(version), Origin(origin));
        Rank::new(stamp, replaces).with_expiry(ends)
    })
}

proptest! {
    #[test]
    fn its_text_compares_as_it_does(one in any_rank(), other in any_rank()) {
        prop_assert_eq!(one.to_text().cmp(&other.to_text()), one.cmp(&other));
    }

    #[test]
    fn what_it_needs_is_enough(version: u64, replaced: Option<(u64, u64, bool)>, limit in 0..u64::MAX) {
        let replaces = replaced.map(|(version, origin, is_mend)| Replaces {
            stamp: Stamp::new(Version(version), Origin(origin)),
            is_mend,
        });
        let held = Rank::new(stamp(version), replaces);
        match held.above(Version(limit)) {
            Above::Later(floor) => prop_assert!(held < plain(floor.0 + 1)),
            Above::Replacing(replaces, floor) => {
                prop_assert!(floor.0 <= limit);
                prop_assert!(held < Rank::new(stamp(floor.0 + 1), Some(replaces)));
            }
            Above::Mended(replaces) => {
                let mended = Rank::new(stamp(limit), Some(replaces));
                prop_assert!(held < mended || replaces.stamp.version == Version(u64::MAX));
                if held < mended {
                    let is_writable = matches!(mended.above(Version(limit)), Above::Replacing(..));
                    prop_assert!(is_writable);
                }
            }
        }
    }
}
