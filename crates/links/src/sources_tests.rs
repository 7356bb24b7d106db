use dunlin_entry::Version;
use dunlin_proto::api::Homes;

use super::*;

const GRACE_MS: u64 = 8_000;
const NOW_MS: u64 = 100_000;
const BEFORE_MS: u64 = 99_000;
const TIMES: (u64, u64) = (NOW_MS, GRACE_MS);

fn version(ms: u64) -> HexVersion {
    HexVersion(Version::new(ms, 0))
}

fn progress(since: u64, delivered: u64, is_ended: bool) -> HomeProgress {
    HomeProgress {
        since: version(since),
        delivered: (delivered > 0).then(|| version(delivered)),
        is_ended,
    }
}

/// A link whose one report arrived at 98,000: of each home and prefix since when, and up to when it is delivered.
fn source(cluster: &str, homes: &[(&str, u64, u64, bool)]) -> Source {
    let of = |(key, since, delivered, is_ended): &(&str, u64, u64, bool)| {
        ((*key).to_owned(), progress(*since, *delivered, *is_ended))
    };
    let homes: Homes = homes.iter().map(of).collect();
    Source {
        cluster: cluster.to_owned(),
        link: 1,
        inbound: Inbound::new(90_000).report(("link", ""), &homes, (98_000, 0)),
    }
}

fn dropped(source: Source, at_ms: u64) -> Source {
    Source {
        inbound: source.inbound.drop_link(at_ms),
        ..source
    }
}

fn by_links(since: u64, delivered: u64, is_ended: bool) -> Arrives {
    Arrives::ByLinks(progress(since, delivered, is_ended))
}

// The sources, the prefix of the link onwards, and how the entries of `h` arrive.
type Case = (
    &'static str,
    Vec<Source>,
    &'static str,
    Vec<(&'static str, Arrives)>,
);

fn all() -> Source {
    source("c", &[("h", 91_000, 98_500, false)])
}

fn slow() -> Source {
    source("d", &[("h", 90_000, 97_000, false)])
}

fn narrow(delivered: u64) -> Source {
    source("d", &[("h/p", 90_000, delivered, false)])
}

fn no_more(since: u64) -> Arrives {
    Arrives::NoMore {
        since: version(since),
        ended_ms: 98_200,
    }
}

fn check(cases: Vec<Case>) {
    for (what, sources, prefix, expected) in cases {
        let found = arrives(&sources, "h", prefix, BEFORE_MS);
        let expected: BTreeMap<&str, Arrives> = expected.iter().copied().collect();
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn of_several_links_the_greatest_counts() {
    let one = |homes: &[(&str, u64, u64, bool)]| source("c", homes);
    let two = |homes: &[(&str, u64, u64, bool)]| source("d", homes);
    check(vec![
        ("nothing", vec![], "", vec![]),
        (
            "others",
            vec![one(&[("g", 90_000, 98_000, false)])],
            "",
            vec![],
        ),
        (
            "one",
            vec![all()],
            "",
            vec![("", by_links(91_000, 98_500, false))],
        ),
        (
            "nothing delivered yet",
            vec![one(&[("h", 91_000, 0, false)])],
            "",
            vec![("", by_links(91_000, 0, false))],
        ),
        (
            "the greatest of two, since the earlier",
            vec![all(), slow()],
            "",
            vec![("", by_links(90_000, 98_500, false))],
        ),
        (
            "none waits for one that has delivered nothing",
            vec![all(), two(&[("h", 92_000, 0, false)])],
            "",
            vec![("", by_links(91_000, 98_500, false))],
        ),
        (
            "dropped",
            vec![dropped(narrow(97_000), 98_200)],
            "",
            vec![("p", no_more(90_000))],
        ),
        (
            "one of two dropped",
            vec![all(), dropped(slow(), 98_200)],
            "",
            vec![("", by_links(91_000, 98_500, false))],
        ),
        (
            "ended before",
            vec![one(&[("h", 91_000, 98_500, true)])],
            "",
            vec![("", by_links(91_000, 98_500, true))],
        ),
        (
            "ended before, beside one that has all",
            vec![one(&[("h", 91_000, 98_500, true)]), slow()],
            "",
            vec![("", by_links(90_000, 97_000, false))],
        ),
    ]);
}

#[test]
fn each_part_of_the_keys_counts_apart() {
    check(vec![
        (
            "part of the keys",
            vec![narrow(97_000)],
            "",
            vec![("p", by_links(90_000, 97_000, false))],
        ),
        ("other keys", vec![narrow(97_000)], "q", vec![]),
        (
            "a narrow one says nothing of the rest",
            vec![slow(), narrow(98_500)],
            "",
            vec![
                ("", by_links(90_000, 97_000, false)),
                ("p", by_links(90_000, 98_500, false)),
            ],
        ),
        (
            "a wide one counts for the narrow",
            vec![all(), narrow(97_000)],
            "",
            vec![
                ("", by_links(90_000, 98_500, false)),
                ("p", by_links(90_000, 98_500, false)),
            ],
        ),
        (
            "all keys, for some",
            vec![all()],
            "p",
            vec![("p", by_links(91_000, 98_500, false))],
        ),
        (
            "a narrow one lasts",
            vec![dropped(slow(), 98_200), narrow(97_500)],
            "",
            vec![
                ("", no_more(90_000)),
                ("p", by_links(90_000, 97_500, false)),
            ],
        ),
    ]);
}

#[test]
fn a_report_counts_once_all_replicas_have_what_it_speaks_of() {
    let sources = [source("c", &[("h", 91_000, 98_500, false)])];
    for (before_ms, delivered) in [(98_000, 0), (98_001, 98_500)] {
        let expected = by_links(91_000, delivered, false);
        assert_eq!(
            arrives(&sources, "h", "", before_ms),
            [("", expected)].into()
        );
    }
}

#[test]
fn a_link_into_a_keyspace_with_records_needs_all_of_them_here() {
    let fresh = |cluster: &str, homes: &[&str], is_ended| {
        let homes: Vec<_> = homes
            .iter()
            .map(|home| (*home, 90_000, 98_000, is_ended))
            .collect();
        source(cluster, &homes)
    };
    let owned = |homes: &[&str]| -> Vec<String> { homes.iter().map(|h| (*h).to_owned()).collect() };
    // The links here of `a`, the homes of the keyspace at `b`, the first that is missing.
    type Case = (
        &'static str,
        Vec<Source>,
        &'static [&'static str],
        Option<&'static str>,
    );
    let cases: [Case; 10] = [
        ("no links", vec![], &["b"], Some("b")),
        ("only our own", vec![], &["a"], None),
        (
            "its own",
            vec![fresh("b", &["b"], false)],
            &["a", "b"],
            None,
        ),
        (
            "a third",
            vec![fresh("b", &["b"], false)],
            &["b", "c"],
            Some("c"),
        ),
        (
            "by another link",
            vec![fresh("b", &["b"], false), fresh("c", &["c"], false)],
            &["b", "c"],
            None,
        ),
        (
            "a ring: all by the last but one",
            vec![fresh("c", &["b", "c"], false)],
            &["a", "b", "c"],
            None,
        ),
        (
            "with a prefix",
            vec![fresh("b", &["b/p"], false)],
            &["b"],
            Some("b"),
        ),
        (
            "entries from before its links ended, by another than the target",
            vec![fresh("c", &["b"], true)],
            &["b"],
            Some("b"),
        ),
        (
            "the same, but all that the target has",
            vec![fresh("b", &["b", "c"], true)],
            &["b", "c"],
            None,
        ),
        (
            "dropped",
            vec![dropped(fresh("b", &["b"], false), 98_500)],
            &["b"],
            Some("b"),
        ),
    ];
    for (what, sources, theirs, expected) in cases {
        let theirs = owned(theirs);
        let found = lacking(&sources, ("a", "b"), &theirs, TIMES);
        assert_eq!(found, expected, "{what}");
    }
    let old = [source("b", &[("b", 80_000, 95_900, false)])];
    assert_eq!(lacking(&old, ("a", "b"), &owned(&["b"]), TIMES), Some("b"));
    let none = [source("b", &[("b", 99_000, 0, false)])];
    assert_eq!(lacking(&none, ("a", "b"), &owned(&["b"]), TIMES), Some("b"));
}

#[test]
fn the_age_of_other_homes_begins_with_what_is_here_when_a_link_is_made() {
    let sources = [
        source(
            "c",
            &[("g", 91_000, 0, false), ("h", 91_000, 98_500, false)],
        ),
        dropped(source("d", &[("i", 80_000, 81_000, false)]), 98_200),
    ];
    let expected = [("g", 91_000), ("h", 98_500), ("i", 100_000)];
    let expected = expected.map(|(home, ms)| (home.to_owned(), ms));
    assert_eq!(since_ms(&sources, "", NOW_MS), expected.into());
}
