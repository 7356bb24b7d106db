use std::collections::BTreeMap;

use super::*;
use crate::inbound::Inbound;

const A: &str = "00040000000000000000000000000001";
const A_P: &str = "00040000000000000000000000000001/p";
const B: &str = "00080000000000000000000000000001";
const C: &str = "000c0000000000000000000000000001";
fn version(ms: u64) -> HexVersion {
    HexVersion(Version::new(ms, 0))
}

/// A link of A to B that was made at 50,000.
fn link(prefix: &str) -> LinkRecord {
    LinkRecord {
        id: 1,
        name: "ab".to_owned(),
        to: vec![],
        keyspace: "default".to_owned(),
        keyspace_id: 1,
        cluster: B.to_owned(),
        prefix: prefix.to_owned(),
        limit_bytes_per_s: None,
        login: None,
        paused: false,
        broken_ms: None,
        grace_s: 80,
        created_ms: 50_000,
        since_ms: BTreeMap::new(),
    }
}

const C_P: &str = "000c0000000000000000000000000001/p";

/// C sends its own, A's and B's entries to A.
fn source() -> Source {
    let progress = HomeProgress {
        since: version(60_000),
        delivered: Some(version(95_000)),
        is_ended: false,
    };
    let homes: Homes = [A, B, C].map(|home| (home.to_owned(), progress)).into();
    Source {
        cluster: C.to_owned(),
        link: 7,
        inbound: Inbound::new(60_000).report(("ca", ""), &homes, (98_000, 0)),
    }
}

#[test]
fn a_table_names_all_homes_but_the_targets() {
    let mut progress = Progress::default();
    for partition in 0..2 {
        progress.deliver(partition, A, Version::new(97_000, 0));
    }
    progress.deliver(0, C, Version::new(94_000, 0));
    let of = |since: u64, delivered: Option<u64>, is_ended| HomeProgress {
        since: version(since),
        delivered: delivered.map(version),
        is_ended,
    };
    let made_later = LinkRecord {
        since_ms: [(C.to_owned(), 90_000)].into(),
        ..link("")
    };
    type Expected = Vec<(&'static str, HomeProgress)>;
    let own = of(50_000, Some(97_000), false);
    // The link, its partitions, its sources, the table.
    let cases: [(LinkRecord, u16, Vec<Source>, Expected); 5] = [
        (link(""), 2, vec![], vec![(A, own)]),
        // One partition has delivered nothing of C's.
        (
            link(""),
            2,
            vec![source()],
            vec![(A, own), (C, of(60_000, None, false))],
        ),
        (
            link(""),
            1,
            vec![source()],
            vec![(A, own), (C, of(60_000, Some(94_000), false))],
        ),
        (
            made_later,
            1,
            vec![source()],
            vec![(A, own), (C, of(90_000, Some(94_000), false))],
        ),
        (
            link("p"),
            1,
            vec![source()],
            vec![
                (A_P, of(50_000, None, false)),
                (C_P, of(60_000, None, false)),
            ],
        ),
    ];
    for (link, partitions, sources, expected) in cases {
        let table = table((A, partitions), &link, &progress, &sources);
        let expected = expected.into_iter().map(|(h, p)| (h.to_owned(), p));
        assert_eq!(table, expected.collect::<Homes>(), "{link:?} {partitions}");
    }
}

#[test]
fn a_round_says_of_other_homes_what_their_links_say() {
    let known = Version::new(99_900, 0);
    let of = |sources: &[Source], known: Version| {
        let logged = logged(A, &link(""), sources, known, (1_000, 60_200));
        let ms = |(home, version): (String, Version)| (home, version.millis());
        logged.into_iter().map(ms).collect::<Vec<_>>()
    };
    let expected = |homes: &[(&str, u64)]| -> Vec<(String, u64)> {
        homes.iter().map(|(h, ms)| ((*h).to_owned(), *ms)).collect()
    };
    assert_eq!(of(&[], known), expected(&[(A, 99_900)]));
    assert_eq!(
        of(&[source()], known),
        expected(&[(A, 99_900), (C, 95_000)])
    );
    // Once nothing comes over the last link that brought them, and its last batch is over, all is here that will be.
    let dropped = Source {
        inbound: source().inbound.drop_link(98_500),
        ..source()
    };
    let dropped = [dropped];
    assert_eq!(of(&dropped, known), expected(&[(A, 99_900)]));
    let later = Version::new(98_500 + 60_000 + 201, 0);
    let later_ms = later.millis();
    assert_eq!(
        of(&dropped, later),
        expected(&[(A, later_ms), (C, later_ms)])
    );
}
