use std::rc::Rc;

use dunlin_entry::Origin;

use super::*;

const A: Origin = Origin::new(1, 0, 1);
const B: Origin = Origin::new(2, 0, 1);

fn seen(a: u64, b: u64) -> Vector {
    [(A, Version(a)), (B, Version(b))].into_iter().collect()
}

/// A log of which the records 100 to 400 are there, in segments from 100, 200 and 300, with a mark at 150.
fn here<'a>(segments: &'a [(Index, Vector)], vector: &'a Vector, strays: &'a Vector) -> Here<'a> {
    Here {
        serves: behind(150, Some(seen(15, 15))),
        first: 100,
        last: 400,
        segments,
        vector,
        strays,
        forgotten: Version(12),
        writes: &|_| true,
    }
}

fn behind(index: Index, needs: Option<Vector>) -> Serves {
    Serves::Behind(Rc::new(Mark { index, needs }))
}

fn segments() -> [(Index, Vector); 3] {
    [
        (100, seen(10, 10)),
        (200, seen(20, 20)),
        (300, seen(30, 30)),
    ]
}

const DELTA: Start = Start::Backfill(Scope::Delta);
const COMPLETE: Start = Start::Backfill(Scope::Complete);

#[test]
fn all_cases() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    // What it has seen of A and B, and of this very log; where it begins.
    let table = [
        ("all there is", (40, 40), None, Start::Log(300)),
        (
            "up to the middle of a segment",
            (35, 25),
            None,
            Start::Log(200),
        ),
        (
            "up to the beginning of one",
            (20, 20),
            None,
            Start::Log(200),
        ),
        (
            "just what came beside the log",
            (15, 15),
            None,
            Start::Log(151),
        ),
        ("not all of that", (15, 14), None, DELTA),
        (
            "more of one than this shard",
            (50, 25),
            None,
            Start::Log(200),
        ),
        ("as much as was let go", (10, 10), None, COMPLETE),
        ("all deletes that are forgotten", (12, 12), None, DELTA),
        ("not all of these", (12, 11), None, COMPLETE),
        ("nothing of one", (40, 0), None, COMPLETE),
        ("nothing", (0, 0), None, COMPLETE),
        (
            "little, and the log up to 380",
            (12, 12),
            Some(380),
            Start::Log(381),
        ),
        (
            "nothing, and the log to its end",
            (0, 0),
            Some(400),
            Start::Log(401),
        ),
        (
            "little, and the log up to the mark",
            (12, 12),
            Some(150),
            Start::Log(151),
        ),
        (
            "little, and the log up to before it",
            (12, 12),
            Some(149),
            DELTA,
        ),
        (
            "little, and a log that was longer",
            (12, 12),
            Some(401),
            DELTA,
        ),
        (
            "much, and a log that was longer",
            (25, 25),
            Some(401),
            Start::Log(200),
        ),
    ];
    for (what, (a, b), at, start) in table {
        let here = here(&segments, &vector, &none);
        let vector = seen(a, b);
        assert_eq!(begin(Past::Seen(&vector, at), &here), start, "{what}");
    }
}

#[test]
fn now_is_behind_the_last_that_may_be_shown() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    let here = here(&segments, &vector, &none);
    assert_eq!(begin(Past::Now, &here), Start::Log(401));
}

#[test]
fn what_is_not_here_is_asked_for_elsewhere_whatever_was_seen() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    for (serves, start) in [
        (Serves::Away, Start::Elsewhere),
        (Serves::Open, Start::Later),
    ] {
        let here = Here {
            serves,
            ..here(&segments, &vector, &none)
        };
        assert_eq!(begin(Past::Now, &here), start);
        assert_eq!(begin(Past::Seen(&vector, Some(400)), &here), start);
    }
}

#[test]
fn copies_that_no_vector_names_are_given_anew_unless_this_log_was_read() {
    let (segments, vector) = (segments(), seen(40, 40));
    let strays = seen(45, 0);
    let here = here(&segments, &vector, &strays);
    let all = seen(40, 40);
    // Deletes up to 12 are forgotten, and no stray is among them.
    assert_eq!(begin(Past::Seen(&all, None), &here), DELTA);
    assert_eq!(begin(Past::Seen(&all, Some(390)), &here), Start::Log(391));
    let more = seen(45, 40);
    assert_eq!(begin(Past::Seen(&more, None), &here), Start::Log(300));
}

#[test]
fn a_mark_that_nobody_is_known_to_have_reached_is_passed_by_a_later_segment_or_this_log_alone() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    let with = |index| Here {
        serves: behind(index, None),
        ..here(&segments, &vector, &none)
    };
    let all = seen(40, 40);
    assert_eq!(begin(Past::Seen(&all, None), &with(299)), Start::Log(300));
    assert_eq!(begin(Past::Seen(&all, None), &with(300)), COMPLETE);
    assert_eq!(
        begin(Past::Seen(&all, Some(300)), &with(300)),
        Start::Log(301)
    );
    assert_eq!(begin(Past::Seen(&all, Some(299)), &with(300)), COMPLETE);
}

#[test]
fn a_mark_before_the_log_counts_no_more() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    let here = Here {
        serves: behind(50, Some(seen(5, 5))),
        ..here(&segments, &vector, &none)
    };
    let begun = |a, b| begin(Past::Seen(&seen(a, b), None), &here);
    assert_eq!(begun(10, 10), Start::Log(100));
    // What is between the mark and the first record is gone.
    assert_eq!(begun(5, 5), COMPLETE);
}

#[test]
fn a_new_log_is_served_from_its_beginning() {
    let (segments, vector, none) = ([(1, Vector::new())], seen(4, 4), Vector::new());
    let here = Here {
        serves: behind(0, Some(Vector::new())),
        first: 1,
        last: 9,
        ..here(&segments, &vector, &none)
    };
    assert_eq!(begin(Past::Seen(&none, None), &here), Start::Log(1));
    assert_eq!(begin(Past::Seen(&seen(9, 9), None), &here), Start::Log(1));
}

#[test]
fn a_snapshot_is_gone_on_with_where_the_log_has_what_it_lacks() {
    let (segments, vector, none) = (segments(), seen(40, 40), Vector::new());
    let here = here(&segments, &vector, &none);
    let place = |is_complete, a, b| Within {
        is_complete,
        vector: seen(a, b),
        next: bytes::Bytes::from_static(b"k"),
    };
    let on = |place: &Within, view: &Vector, before: &Vector| go_on(place, before, view, &here);
    let complete = place(true, 35, 25);
    let whole = on(&complete, &vector, &none);
    assert_eq!(whole, Some((200, Scope::Complete, seen(35, 25))));
    // What this view has not, of keys behind the place, is named no more.
    let behind = on(&complete, &seen(30, 40), &none);
    assert_eq!(behind, Some((200, Scope::Complete, seen(30, 25))));
    let delta = place(false, 35, 25);
    let gone = on(&delta, &vector, &seen(12, 12));
    assert_eq!(gone, Some((200, Scope::Delta, seen(35, 25))));
    // Deletes that were still to come may be forgotten, or the log does not reach back.
    assert_eq!(on(&delta, &vector, &seen(11, 12)), None);
    assert_eq!(on(&place(true, 5, 25), &vector, &none), None);
}

#[test]
fn what_nobody_could_write_there_is_not_looked_for() {
    const OTHER: Origin = Origin::new(1, 1, 1);
    let (mut segments, mut vector, none) = (segments(), seen(40, 40), Vector::new());
    for (_, before) in &mut segments {
        before.advance(OTHER, Version(9));
    }
    vector.advance(OTHER, Version(9));
    let all = here(&segments, &vector, &none);
    let seen = seen(35, 25);
    assert_eq!(begin(Past::Seen(&seen, None), &all), Start::Log(151));
    let some = Here {
        writes: &|origin| origin != OTHER,
        ..all
    };
    assert_eq!(begin(Past::Seen(&seen, None), &some), Start::Log(200));
}
