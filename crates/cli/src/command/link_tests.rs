#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn servers_and_keyspace_of_a_target() {
    type Target = (&'static [&'static str], &'static str);
    let cases: [(&str, Option<Target>); 9] = [
        ("http://b:1/ks", Some((&["http://b:1"], "ks"))),
        (
            "http://b:1,http://c:2/ks",
            Some((&["http://b:1", "http://c:2"], "ks")),
        ),
        ("b:1,c:2/ks", Some((&["http://b:1", "http://c:2"], "ks"))),
        (
            "https://b:1/,https://c:2/ks",
            Some((&["https://b:1", "https://c:2"], "ks")),
        ),
        ("http://b:1", None),
        ("http://b:1/", None),
        ("ks", None),
        ("/ks", None),
        ("ftp://b:1/ks", None),
    ];
    for (to, expected) in cases {
        let found = target(to).ok();
        let expected = expected.map(|(servers, keyspace)| {
            let servers: Vec<String> = servers.iter().map(|s| (*s).to_owned()).collect();
            (servers, keyspace.to_owned())
        });
        assert_eq!(found, expected, "{to}");
    }
}

#[test]
fn a_link_is_acknowledged_when_all_that_send_are() {
    let shard = |partitions, is_acknowledged| dunlin_client::LinkAtShard {
        partitions,
        is_acknowledged,
        ..dunlin_client::LinkAtShard::default()
    };
    let cases = [
        (vec![], false),
        (vec![shard(0, false)], false),
        (vec![shard(3, false), shard(2, true)], false),
        (vec![shard(3, true), shard(0, false)], true),
    ];
    for (shards, expected) in cases {
        let link = LinkStatus {
            shards,
            ..LinkStatus::default()
        };
        assert_eq!(is_acknowledged(&link), expected, "{link:?}");
    }
}
