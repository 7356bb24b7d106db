#![allow(clippy::unwrap_used)]

use super::*;

fn link(name: &str) -> LinkRecord {
    LinkRecord {
        id: 0,
        name: name.to_owned(),
        to: vec!["http://b1:8080".to_owned()],
        keyspace: "orders".to_owned(),
        keyspace_id: 3,
        cluster: format!("{:032x}", 5),
        prefix: String::new(),
        limit_bytes_per_s: None,
        login: None,
        paused: false,
        broken_ms: None,
        grace_s: 864_000,
        since_ms: BTreeMap::new(),
        created_ms: 7,
    }
}

fn made(names: &[&str]) -> Links {
    names.iter().fold((Vec::new(), 0), |links, name| {
        with(&links, &LinkChange::Create(link(name))).unwrap()
    })
}

fn with((links, made): &Links, change: &LinkChange) -> Result<Links, LinkRefusal> {
    changed((links, *made), change)
}

fn ids((links, _): &Links) -> Vec<(&str, u32)> {
    let links = links.iter();
    links.map(|link| (link.name.as_str(), link.id)).collect()
}

#[test]
fn an_id_of_a_link_is_never_given_out_again() {
    let two = made(&["b", "a"]);
    assert_eq!(ids(&two), [("a", 2), ("b", 1)]);
    let dropped = with(&two, &LinkChange::Drop("a".into())).unwrap();
    let again = with(&dropped, &LinkChange::Create(link("a"))).unwrap();
    assert_eq!(ids(&again), [("a", 3), ("b", 1)]);
}

#[test]
fn changes_of_a_link() {
    let one = made(&["a"]);
    let alter =
        |links: &Links, settings| with(links, &LinkChange::Alter("a".into(), settings)).unwrap();
    let set = alter(
        &one,
        LinkSettings {
            paused: Some(true),
            to: Some(vec!["http://b2:1".into()]),
            limit_bytes_per_s: Some(9),
            login: Some("l".into()),
        },
    );
    let expected = LinkRecord {
        id: 1,
        paused: true,
        to: vec!["http://b2:1".into()],
        limit_bytes_per_s: Some(9),
        login: Some("l".into()),
        ..link("a")
    };
    assert_eq!(set.0, [expected]);
    assert_eq!(alter(&set, LinkSettings::default()), set, "nothing named");
    let reset = alter(
        &set,
        LinkSettings {
            limit_bytes_per_s: Some(0),
            login: Some(String::new()),
            ..LinkSettings::default()
        },
    );
    assert_eq!(
        (reset.0[0].limit_bytes_per_s, &reset.0[0].login),
        (None, &None)
    );
    // It is broken from the first time on, whatever comes later.
    let broken = with(&set, &LinkChange::Break(1, 50)).unwrap();
    let again = with(&broken, &LinkChange::Break(1, 60)).unwrap();
    assert_eq!(again.0[0].broken_ms, Some(50));
    assert_eq!(alter(&again, LinkSettings::default()), again);
    let other = with(&set, &LinkChange::Break(2, 50)).unwrap();
    assert_eq!(other, set, "a break of one that is dropped");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let one = made(&["a"]);
    let many: Vec<String> = (0..LINKS_MAX).map(|n| format!("l{n}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases = [
        (&one, LinkChange::Create(link("a"))),
        (&one, LinkChange::Create(link("-a"))),
        (&one, LinkChange::Create(link(".."))),
        (
            &one,
            LinkChange::Create(LinkRecord {
                to: Vec::new(),
                ..link("b")
            }),
        ),
        (
            &one,
            LinkChange::Create(LinkRecord {
                prefix: "p".repeat(1025),
                ..link("b")
            }),
        ),
        (&made(&many), LinkChange::Create(link("b"))),
        (&one, LinkChange::Alter("b".into(), LinkSettings::default())),
        (
            &one,
            LinkChange::Alter(
                "a".into(),
                LinkSettings {
                    to: Some(Vec::new()),
                    ..LinkSettings::default()
                },
            ),
        ),
        (&one, LinkChange::Drop("b".into())),
    ];
    for (links, change) in cases {
        assert!(with(links, &change).is_err(), "{change:?}");
    }
}
