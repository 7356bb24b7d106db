use dunlin_entry::{Replaces, Stamp};
use dunlin_proto::{Delta, ShardAddress};

use super::*;

const SOURCE: Origin = Origin::new(2, 0, 1);
const OTHER: Origin = Origin::new(3, 0, 1);
const GONE: Origin = Origin::new(4, 0, 1);
const NEVER_HEARD: Origin = Origin::new(5, 0, 1);

fn vector(of: &[(Origin, u64)]) -> Vector {
    of.iter().map(|(o, v)| (*o, Version(*v))).collect()
}

#[test]
fn each_writer_that_can_be_asked_is_asked_for_its_own() {
    let covered = vector(&[(SOURCE, 50), (OTHER, 60), (GONE, 70)]);
    let have = vector(&[(SOURCE, 20), (OTHER, 30), (GONE, 70)]);
    let of_other = |origin, version| origin == OTHER && version <= Version(60);
    let left_out = leave_out(&covered, &have, of_other);
    let delta = Delta {
        asker: ShardAddress { node: 1, shard: 0 },
        have: left_out.clone(),
        keep: Version(50),
    };
    let mended = Replaces {
        stamp: Stamp::new(Version(u64::MAX / 2), OTHER),
        is_mend: true,
    };
    // Whose, its version, whether it is the end of a value, what it replaces, whether it is sent.
    let cases = [
        (SOURCE, 20, false, None, false),
        (SOURCE, 21, false, None, true),
        (SOURCE, 20, true, None, true),
        (SOURCE, 20, false, Some(mended), true),
        (OTHER, 31, false, None, false),
        (OTHER, 31, true, None, true),
        (GONE, 70, false, None, false),
        (GONE, 71, false, None, true),
        (NEVER_HEARD, 1, false, None, true),
    ];
    for (origin, version, is_expiry, replaces, expected) in cases {
        let stamp = Stamp::new(Version(version), origin);
        let wanted = delta.wants(stamp.into(), is_expiry, replaces);
        assert_eq!(wanted, expected, "{origin} {version} {is_expiry}");
    }
    // Of what was left to others nothing is said.
    assert_eq!(
        brought(&covered, &left_out),
        vector(&[(SOURCE, 50), (GONE, 70)])
    );
}

#[test]
fn a_seal_tells_what_is_here_until_the_source_has_more_below_it() {
    let start = |number| SOURCE.at_start(number);
    let have = vector(&[
        (SOURCE.seal(), 3),
        (start(3), 50),
        (start(4), 60),
        (OTHER, 30),
    ]);
    let asked = |covered: &[(Origin, u64)]| leave_out(&vector(covered), &have, |_, _| false);
    let level = asked(&[(SOURCE.seal(), 3), (start(3), 50), (start(4), 70)]);
    assert_eq!(level.get(start(2)), Version(50));
    assert_eq!(level.get(start(4)), Version(60));
    let more = asked(&[(start(1), 20), (start(2), 51), (start(4), 70)]);
    assert_eq!(more.get(start(1)), Version(0));
    assert_eq!(more.get(start(3)), Version(0));
    assert_eq!(more.get(start(4)), Version(60));
    assert_eq!(more.get(OTHER), Version(30));
    // The number of a start is never a time, whoever is asked for it.
    let covered = vector(&[(OTHER.seal(), 1), (OTHER, 60)]);
    let left = leave_out(&covered, &vector(&[(OTHER, 30)]), |_, _| true);
    assert_eq!(left, vector(&[(OTHER, u64::MAX)]));
}

#[test]
fn who_has_nothing_asks_for_all() {
    let covered = vector(&[(SOURCE, 50), (OTHER, 60)]);
    let left_out = leave_out(&covered, &Vector::new(), |_, _| false);
    assert!(left_out.is_empty());
    assert_eq!(brought(&covered, &left_out), covered);
}
