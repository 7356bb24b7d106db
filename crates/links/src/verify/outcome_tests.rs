use bytes::Bytes;
use dunlin_entry::{Origin, Replaces, Stamp, Version};

use super::*;

const OWN: u16 = 1;
const OTHER: u16 = 2;
const EQUAL: Outcome = Outcome::Equal;

fn record(kind: Kind, version: u64, cluster: u16, value: &'static str) -> Entry {
    let origin = Origin(u64::from(cluster) << 50);
    assert_eq!(origin.cluster(), cluster);
    Entry {
        kind,
        copy: false,
        from: 0,
        partition: 0,
        keyspace: 0,
        stamp: Stamp::new(Version(version), origin),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: Bytes::from_static(b"k"),
        value: Bytes::from_static(value.as_bytes()),
    }
}

fn put(version: u64, cluster: u16) -> Option<Entry> {
    Some(record(Kind::Put, version, cluster, "v"))
}

fn delete(version: u64, cluster: u16) -> Option<Entry> {
    Some(record(Kind::Delete, version, cluster, ""))
}

fn differs(what: Difference) -> Outcome {
    Outcome::Different(what)
}

/// One way: nothing arrives here, and no delete of there is old enough to be forgotten.
const ONE_WAY: Known = Known {
    own: OWN,
    may_be_deleted_there: false,
    has_arrived: None,
};

type Case = (
    &'static str,
    Option<Entry>,
    Option<Entry>,
    Option<Entry>,
    Outcome,
);

/// What it is about, the record here, the one there, the last one here, and the outcome.
fn cases() -> Vec<Case> {
    let missing = differs(Difference::MissingThere);
    let newer = differs(Difference::NewerThere);
    let deleted = differs(Difference::NotDeletedThere);
    let lost = differs(Difference::MissingHere);
    vec![
        (
            "both the same",
            put(5, OWN),
            put(5, OWN),
            put(5, OWN),
            EQUAL,
        ),
        (
            "older there",
            put(5, OWN),
            put(4, OWN),
            put(5, OWN),
            missing,
        ),
        ("none there", put(5, OWN), None, put(5, OWN), missing),
        (
            "a delete is missing there",
            delete(5, OWN),
            put(4, OWN),
            delete(5, OWN),
            missing,
        ),
        (
            "a delete is forgotten there",
            delete(5, OWN),
            None,
            delete(5, OWN),
            EQUAL,
        ),
        (
            "overwritten meanwhile, and there already",
            put(5, OWN),
            put(6, OWN),
            put(6, OWN),
            EQUAL,
        ),
        (
            "overwritten meanwhile, older there",
            put(5, OWN),
            put(4, OWN),
            put(6, OWN),
            Outcome::Again,
        ),
        (
            "written here meanwhile",
            None,
            put(6, OWN),
            put(6, OWN),
            EQUAL,
        ),
        (
            "newer still here",
            put(5, OWN),
            put(6, OWN),
            put(7, OWN),
            EQUAL,
        ),
        (
            "deleted meanwhile",
            put(5, OWN),
            None,
            delete(6, OWN),
            EQUAL,
        ),
        (
            "written there",
            put(5, OWN),
            put(6, OTHER),
            put(5, OWN),
            newer,
        ),
        ("only there", None, put(6, OTHER), None, newer),
        (
            "deleted there",
            put(5, OWN),
            delete(6, OTHER),
            put(5, OWN),
            newer,
        ),
        (
            "deleted here and forgotten, still there",
            None,
            put(4, OWN),
            None,
            deleted,
        ),
        ("lost here", put(3, OWN), put(4, OWN), put(3, OWN), lost),
    ]
}

#[test]
fn a_key_differs_only_where_the_other_cluster_must_have_had_the_record() {
    for (what, here, there, last, want) in cases() {
        let got = outcome(here.as_ref(), there.as_ref(), last.as_ref(), ONE_WAY);
        assert_eq!(got, want, "{what}");
    }
}

#[test]
fn deletes_alone_do_not_differ() {
    for (here, there) in [
        (None, None),
        (delete(5, OWN), delete(4, OWN)),
        (None, delete(4, OTHER)),
    ] {
        let got = outcome(here.as_ref(), there.as_ref(), here.as_ref(), ONE_WAY);
        assert_eq!(got, EQUAL);
    }
}

#[test]
fn entries_that_links_bring_here_are_waited_for() {
    let here = put(5, OWN);
    let of = |there: Option<Entry>, last: Option<Entry>, has_arrived| {
        let known = Known {
            has_arrived: Some(has_arrived),
            ..ONE_WAY
        };
        outcome(here.as_ref(), there.as_ref(), last.as_ref(), known)
    };
    assert_eq!(of(put(6, OTHER), put(6, OTHER), true), EQUAL);
    assert_eq!(of(put(6, OTHER), put(5, OWN), false), Outcome::Again);
    let lost = differs(Difference::MissingHere);
    assert_eq!(of(put(6, OTHER), put(5, OWN), true), lost);
    assert_eq!(of(delete(6, OTHER), put(5, OWN), true), lost);
}

#[test]
fn an_old_record_that_is_not_there_may_have_been_deleted() {
    let known = Known {
        may_be_deleted_there: true,
        ..ONE_WAY
    };
    let here = put(5, OWN);
    let of = |there: Option<Entry>| outcome(here.as_ref(), there.as_ref(), here.as_ref(), known);
    assert_eq!(of(None), differs(Difference::MissingOrDeletedThere));
    // A delete would be newer than the record there.
    assert_eq!(of(put(4, OWN)), differs(Difference::MissingThere));
}

#[test]
fn records_of_one_version_differ_by_their_values_and_not_by_the_end_of_one() {
    let mut here = record(Kind::Put, 5, OWN, "v");
    here.expiry_ms = Some(1_000);
    let mut there = here.clone();
    let of = |there: &Entry| outcome(Some(&here), Some(there), Some(&here), ONE_WAY);
    there.value = Bytes::from_static(b"w");
    assert_eq!(of(&there), differs(Difference::OtherValue));
    there.value = here.value.clone();
    there.expiry_ms = Some(2_000);
    assert_eq!(of(&there), differs(Difference::OtherValue));
    let mut ended = record(Kind::Delete, 5, OWN, "");
    ended.is_expiry = true;
    assert_eq!(of(&ended), EQUAL);
}

#[test]
fn a_record_that_replaces_a_future_timestamp_is_newer_than_it() {
    let future = record(Kind::Put, 900, OWN, "v");
    let mut above = record(Kind::Put, 6, OWN, "w");
    above.replaces = Some(Replaces {
        stamp: future.stamp,
        is_mend: false,
    });
    let got = outcome(Some(&above), Some(&future), Some(&above), ONE_WAY);
    assert_eq!(got, differs(Difference::MissingThere));
}
