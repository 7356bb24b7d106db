use super::*;

/// Five segments of ten records and ten bytes each, from record 1 on.
fn segments() -> Vec<Segment> {
    let segment = |number: u64| Segment {
        first_index: number * 10 + 1,
        last_index: number * 10 + 10,
        bytes: 10,
    };
    (0..5).map(segment).collect()
}

#[test]
fn what_nobody_needs_goes_and_the_rest_within_the_caps_stays() {
    // Flushed up to, first segment a replica needs, pinned from, retention, pins, what goes.
    let cases = [
        ("nobody needs anything", 50, 9, None, 100, 0, Some(41)),
        ("it is not flushed", 25, 9, None, 100, 0, Some(21)),
        ("nothing is flushed", 0, 9, None, 0, 0, None),
        ("a replica needs it", 50, 1, None, 100, 0, Some(11)),
        ("but not beyond the cap", 50, 0, None, 25, 0, Some(31)),
        (
            "pinned though no replica needs it",
            50,
            9,
            Some(25),
            100,
            0,
            Some(21),
        ),
        (
            "pinned from a segment's last record",
            50,
            9,
            Some(30),
            100,
            0,
            Some(21),
        ),
        (
            "pinned from a segment's first record",
            50,
            9,
            Some(31),
            100,
            0,
            Some(31),
        ),
        ("pinned beyond retention", 50, 9, Some(15), 0, 40, Some(11)),
        (
            "and a replica's beyond it all the same",
            50,
            0,
            Some(35),
            20,
            30,
            Some(31),
        ),
        ("pinned all, up to both caps", 50, 9, Some(1), 20, 30, None),
        ("pinned more than both", 50, 9, Some(1), 10, 20, Some(21)),
        ("pinned, and nothing may be", 50, 9, Some(1), 0, 0, Some(41)),
        ("pinned beyond its end", 50, 9, Some(99), 0, 100, Some(41)),
        (
            "pinned and caps without end",
            50,
            9,
            Some(5),
            u64::MAX,
            u64::MAX,
            None,
        ),
    ];
    for (what, flushed, needed, pinned, retention_bytes, pins_bytes, expected) in cases {
        let caps = Caps {
            retention_bytes,
            pins_bytes,
        };
        let goes = released(&segments(), flushed, None, pinned, caps, |number| {
            number >= needed
        });
        assert_eq!(goes, expected, "{what}");
    }
}

#[test]
fn what_a_keyspace_keeps_at_least_stays_up_to_the_caps() {
    // Flushed up to, kept from, what goes.
    let cases = [
        ("nothing is kept", 50, None, Some(41)),
        ("from the beginning", 50, Some(1), None),
        ("from within a segment", 50, Some(25), Some(21)),
        ("from a segment's last record", 50, Some(30), Some(21)),
        ("from a segment's first record", 50, Some(31), Some(31)),
        ("from its end", 50, Some(60), Some(41)),
        ("and it is not flushed", 15, Some(31), Some(11)),
    ];
    let total: u64 = segments().iter().map(|s| s.bytes).sum();
    let caps = |pins_bytes| Caps {
        retention_bytes: 0,
        pins_bytes,
    };
    for (what, flushed, least, expected) in cases {
        let goes = released(&segments(), flushed, least, None, caps(total), |_| false);
        assert_eq!(goes, expected, "{what}");
    }
    // A keyspace does not fill the node's disk.
    let last = segments()[4].bytes;
    let goes = released(&segments(), 50, Some(1), None, caps(last), |_| false);
    assert_eq!(goes, Some(41));
}

#[test]
fn a_keyspaces_bounds_are_by_bytes_and_by_age() {
    // The first four segments ended at 10, 20, 30 and 40 s; it is 42 s, and the last is written.
    let ended_ms = [10_000, 20_000, 30_000, 40_000];
    // Least bytes and age, first that is kept; greatest bytes and age, first that may be held back.
    let least = [
        (None, None, None),
        (Some(0), Some(0), None),
        (Some(1), None, Some(41)),
        (Some(10), None, Some(41)),
        (Some(11), None, Some(31)),
        (Some(50), None, Some(1)),
        (Some(999), None, Some(1)),
        (None, Some(1), Some(41)),
        (None, Some(2), Some(31)),
        (None, Some(12), Some(21)),
        (None, Some(999), Some(1)),
        (Some(11), Some(1), Some(31)),
        (Some(1), Some(12), Some(21)),
    ];
    for (bytes, age_s, first) in least {
        let retention = Retention {
            min_bytes: bytes,
            min_age_s: age_s,
            ..Retention::default()
        };
        let kept = kept_at_least(&segments(), &ended_ms, 42_000, &retention);
        assert_eq!(kept, first, "{retention:?}");
    }
    let most = [
        (None, None, None),
        (Some(0), None, Some(41)),
        (Some(10), None, Some(41)),
        (Some(19), None, Some(41)),
        (Some(20), None, Some(31)),
        (Some(999), None, Some(1)),
        (None, Some(0), Some(41)),
        (None, Some(2), Some(31)),
        (None, Some(999), Some(1)),
        (Some(20), Some(0), Some(41)),
        (Some(0), Some(999), Some(41)),
    ];
    for (bytes, age_s, first) in most {
        let retention = Retention {
            max_bytes: bytes,
            max_age_s: age_s,
            ..Retention::default()
        };
        let held = kept_at_most(&segments(), &ended_ms, 42_000, &retention);
        assert_eq!(held, first, "{retention:?}");
    }
    assert_eq!(kept_at_most(&[], &[], 0, &Retention::default()), None);
}
