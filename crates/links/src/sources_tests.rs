use dunlin_proto::api::Homes;

use super::*;

const GRACE_MS: u64 = 8_000;
const AT: Moment = Moment {
    now_ms: 100_000,
    grace_ms: GRACE_MS,
    before_ms: 99_000,
};

fn version(ms: u64) -> HexVersion {
    HexVersion(Version::new(ms, 0))
}

/// A link whose one report arrived at 98,000: of each home since when, and up to when it is delivered.
fn source(cluster: &str, prefix: &str, homes: &[(&str, u64, u64, bool)]) -> Source {
    let of = |(home, since, delivered, is_partial): &(&str, u64, u64, bool)| {
        let progress = HomeProgress {
            since: version(*since),
            delivered: (*delivered > 0).then(|| version(*delivered)),
            is_partial: *is_partial,
        };
        ((*home).to_owned(), progress)
    };
    let homes: Homes = homes.iter().map(of).collect();
    Source {
        cluster: cluster.to_owned(),
        link: 1,
        inbound: Inbound::new(90_000).report("link", prefix, &homes, 98_000),
    }
}

fn dropped(source: Source, at_ms: u64) -> Source {
    Source {
        inbound: source.inbound.drop_link(at_ms),
        ..source
    }
}

fn by_links(since: u64, delivered: u64, is_partial: bool) -> Option<Arrives> {
    Some(Arrives::ByLinks(HomeProgress {
        since: version(since),
        delivered: (delivered > 0).then(|| version(delivered)),
        is_partial,
    }))
}

#[test]
fn of_several_links_the_least_good_one_counts() {
    let one = |homes: &[(&str, u64, u64, bool)]| source("c", "", homes);
    let two = |homes: &[(&str, u64, u64, bool)]| source("d", "", homes);
    let narrow = |prefix: &str| source("d", prefix, &[("h", 90_000, 97_000, true)]);
    let whole = || one(&[("h", 91_000, 98_500, false)]);
    let no_more = Some(Arrives::NoMore {
        since: version(90_000),
        ended_ms: 98_200,
    });
    // The sources, the prefix of the link onwards, and how the entries of `h` arrive.
    let cases: [(&str, Vec<Source>, &str, Option<Arrives>); 13] = [
        ("nothing", vec![], "", None),
        (
            "others",
            vec![one(&[("g", 90_000, 98_000, false)])],
            "",
            None,
        ),
        ("one", vec![whole()], "", by_links(91_000, 98_500, false)),
        (
            "nothing delivered yet",
            vec![one(&[("h", 91_000, 0, false)])],
            "",
            by_links(91_000, 0, false),
        ),
        (
            "the least of two",
            vec![whole(), two(&[("h", 90_000, 97_000, false)])],
            "",
            by_links(90_000, 97_000, false),
        ),
        (
            "a late one does not hold the other up",
            vec![whole(), two(&[("h", 80_000, 95_900, false)])],
            "",
            by_links(91_000, 98_500, false),
        ),
        (
            "but counts where there is no other",
            vec![two(&[("h", 80_000, 95_900, false)])],
            "",
            by_links(80_000, 95_900, false),
        ),
        (
            "part of the keys counts only beside nothing better",
            vec![whole(), narrow("p")],
            "",
            by_links(91_000, 98_500, false),
        ),
        (
            "part of the keys",
            vec![narrow("p")],
            "",
            by_links(90_000, 97_000, true),
        ),
        ("other keys", vec![narrow("p")], "q", None),
        ("dropped", vec![dropped(narrow(""), 98_200)], "", no_more),
        (
            "one of two dropped",
            vec![
                whole(),
                dropped(two(&[("h", 80_000, 81_000, false)]), 98_200),
            ],
            "",
            by_links(91_000, 98_500, false),
        ),
        (
            "the whole keyspace for part of the keys",
            vec![whole()],
            "p",
            by_links(91_000, 98_500, false),
        ),
    ];
    for (what, sources, prefix, expected) in cases {
        assert_eq!(arrives(&sources, "h", prefix, AT), expected, "{what}");
    }
}

#[test]
fn a_report_counts_once_all_replicas_have_what_it_speaks_of() {
    let sources = [source("c", "", &[("h", 91_000, 98_500, false)])];
    for (before_ms, delivered) in [(98_000, 0), (98_001, 98_500)] {
        let at = Moment { before_ms, ..AT };
        assert_eq!(
            arrives(&sources, "h", "", at),
            by_links(91_000, delivered, false)
        );
    }
}

#[test]
fn a_link_into_a_keyspace_with_records_needs_all_of_them_here() {
    let fresh = |cluster: &str, prefix: &str, homes: &[&str], is_partial| {
        let homes: Vec<_> = homes
            .iter()
            .map(|home| (*home, 90_000, 98_000, is_partial))
            .collect();
        source(cluster, prefix, &homes)
    };
    let owned = |homes: &[&str]| -> Vec<String> { homes.iter().map(|h| (*h).to_owned()).collect() };
    // The links here of `a`, the homes of the keyspace at `b`, the first that lacks.
    let cases: [(&str, Vec<Source>, &[&str], Option<&str>); 10] = [
        ("no links", vec![], &["b"], Some("b")),
        ("only our own", vec![], &["a"], None),
        (
            "its own",
            vec![fresh("b", "", &["b"], false)],
            &["a", "b"],
            None,
        ),
        (
            "a third",
            vec![fresh("b", "", &["b"], false)],
            &["b", "c"],
            Some("c"),
        ),
        (
            "by another link",
            vec![fresh("b", "", &["b"], false), fresh("c", "", &["c"], false)],
            &["b", "c"],
            None,
        ),
        (
            "a ring: all by the last but one",
            vec![fresh("c", "", &["b", "c"], false)],
            &["a", "b", "c"],
            None,
        ),
        (
            "with a prefix",
            vec![fresh("b", "p", &["b"], true)],
            &["b"],
            Some("b"),
        ),
        (
            "part of it, by another than the target",
            vec![fresh("c", "", &["b"], true)],
            &["b"],
            Some("b"),
        ),
        (
            "part of it, but all that the target has",
            vec![fresh("b", "", &["b", "c"], true)],
            &["b", "c"],
            None,
        ),
        (
            "dropped",
            vec![dropped(fresh("b", "", &["b"], false), 98_500)],
            &["b"],
            Some("b"),
        ),
    ];
    for (what, sources, theirs, expected) in cases {
        let theirs = owned(theirs);
        let found = lacking(&sources, ("a", "b"), &theirs, AT);
        assert_eq!(found, expected, "{what}");
    }
    let old = [source("b", "", &[("b", 80_000, 95_900, false)])];
    assert_eq!(lacking(&old, ("a", "b"), &owned(&["b"]), AT), Some("b"));
    let none = [source("b", "", &[("b", 99_000, 0, false)])];
    assert_eq!(lacking(&none, ("a", "b"), &owned(&["b"]), AT), Some("b"));
}

#[test]
fn the_age_of_other_homes_begins_with_what_is_here_when_a_link_is_made() {
    let sources = [
        source(
            "c",
            "",
            &[("g", 91_000, 0, false), ("h", 91_000, 98_500, false)],
        ),
        dropped(source("d", "", &[("i", 80_000, 81_000, false)]), 98_200),
    ];
    let expected = [("g", 91_000), ("h", 98_500), ("i", 100_000)];
    let expected = expected.map(|(home, ms)| (home.to_owned(), ms));
    assert_eq!(since_ms(&sources, "", AT), expected.into());
}
