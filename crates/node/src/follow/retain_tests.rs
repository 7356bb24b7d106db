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
        let goes = released(&segments(), flushed, pinned, caps, |number| {
            number >= needed
        });
        assert_eq!(goes, expected, "{what}");
    }
}
