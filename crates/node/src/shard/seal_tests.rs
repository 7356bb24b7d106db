use super::*;

const SHARD: Origin = Origin::new(1, 0, 0);

/// Pairs of a start of the shard, 0 for its seal, and a version.
fn vector(pairs: &[(u32, u64)]) -> Vector {
    let pairs = pairs.iter();
    pairs
        .map(|(start, version)| (SHARD.at_start(*start), Version(*version)))
        .collect()
}

type Named<'a> = &'a [(u32, u64)];

#[test]
fn the_writer_waits_until_all_name_the_same() {
    use Sealing::{Final, Seal, Wait};
    // Its fourth start judges.
    let cases: [(&str, Named<'_>, &[Named<'_>], Sealing); 16] = [
        ("nothing was written", &[], &[&[]], Final(3)),
        ("alone", &[(1, 5)], &[], Seal(3)),
        ("level", &[(1, 5), (3, 9)], &[&[(1, 5), (3, 9)]], Final(3)),
        ("one has less", &[(1, 5)], &[&[(1, 5)], &[(1, 4)]], Wait),
        ("one has none", &[(1, 5)], &[&[(1, 5)], &[]], Wait),
        ("one has more", &[(1, 5)], &[&[(1, 6)]], Wait),
        ("one has one more", &[(1, 5)], &[&[(1, 5), (2, 6)]], Wait),
        (
            "the present start does not count",
            &[(1, 5), (4, 8)],
            &[&[(1, 5)]],
            Final(3),
        ),
        (
            "one has sealed",
            &[(1, 5)],
            &[&[(1, 5)], &[(0, 3), (3, 5)]],
            Final(3),
        ),
        ("all have sealed", &[(1, 5)], &[&[(0, 3), (3, 5)]], Seal(3)),
        (
            "sealed less",
            &[(1, 5), (3, 9)],
            &[&[(0, 2), (2, 5), (3, 9)]],
            Final(3),
        ),
        (
            "sealed less, and lacks",
            &[(1, 5), (3, 9)],
            &[&[(0, 2), (2, 5)]],
            Wait,
        ),
        (
            "sealed something else",
            &[(1, 5)],
            &[&[(0, 3), (3, 6)]],
            Wait,
        ),
        ("lost a seal", &[(0, 2), (2, 5)], &[&[]], Wait),
        (
            "more above a seal",
            &[(0, 2), (2, 5)],
            &[&[(0, 2), (2, 6)]],
            Wait,
        ),
        (
            "sealed long ago",
            &[(0, 3), (3, 5)],
            &[&[(0, 3), (3, 5)]],
            Wait,
        ),
    ];
    for (name, mine, told, expected) in cases {
        let told: Vec<Vector> = told.iter().map(|named| vector(named)).collect();
        assert_eq!(
            may_seal(SHARD.at_start(4), &vector(mine), told.iter()),
            expected,
            "{name}"
        );
    }
}

#[test]
fn a_seal_is_taken_with_just_what_it_covers() {
    let cases: [(&str, Named<'_>, Named<'_>, bool); 11] = [
        ("level", &[(1, 5), (3, 9)], &[(1, 5), (3, 9)], true),
        ("nothing there", &[], &[], true),
        ("less", &[(1, 5)], &[(1, 5), (3, 9)], false),
        ("more", &[(1, 5), (3, 9)], &[(1, 5)], false),
        (
            "behind in the middle",
            &[(1, 4), (3, 9)],
            &[(1, 5), (3, 9)],
            false,
        ),
        (
            "the present start does not count",
            &[(1, 5)],
            &[(1, 5), (4, 7)],
            true,
        ),
        (
            "sealed before",
            &[(0, 2), (2, 5), (3, 9)],
            &[(1, 5), (3, 9)],
            true,
        ),
        (
            "sealed something else before",
            &[(0, 2), (2, 6)],
            &[(1, 5)],
            false,
        ),
        (
            "the writer lists them no longer",
            &[(1, 5), (3, 9)],
            &[(0, 2), (2, 5), (3, 9)],
            false,
        ),
        ("nothing here, and no longer listed", &[], &[(0, 2)], false),
        ("sealed already", &[(0, 3), (3, 5)], &[(1, 5)], false),
    ];
    for (name, mine, theirs, expected) in cases {
        let (mine, theirs) = (vector(mine), vector(theirs));
        let may = may_take_seal(SHARD, &mine, &theirs, 3, &Vector::new());
        assert_eq!(may, expected, "{name}");
    }
}

#[test]
fn copies_that_no_vector_names_keep_a_seal_off() {
    let named = vector(&[(1, 5)]);
    let may = |pending: Named<'_>| may_take_seal(SHARD, &named, &named, 3, &vector(pending));
    assert!(may(&[(1, 5)]));
    assert!(!may(&[(1, 6)]));
    assert!(!may(&[(2, 1)]));
    assert!(may(&[(4, 9)]));
}
