use super::*;

fn at(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn key(keyspace: &str, key: &str) -> DirectKey {
    DirectKey {
        keyspace: keyspace.into(),
        key: Bytes::copy_from_slice(key.as_bytes()),
    }
}

fn span(keyspace: &str, start: &str, end: &str) -> DirectSpan {
    let end = (!end.is_empty()).then(|| Bytes::copy_from_slice(end.as_bytes()));
    DirectSpan {
        keyspace: keyspace.to_owned(),
        start: Bytes::copy_from_slice(start.as_bytes()),
        end,
    }
}

#[test]
fn a_key_has_the_leader_of_its_range() {
    let mut leaders = Leaders::default();
    leaders.add(span("k", "", "m"), at(1));
    leaders.add(span("k", "p", ""), at(2));
    for (name, wanted) in [
        ("", Some(1)),
        ("a", Some(1)),
        ("m", None),
        ("o", None),
        ("p", Some(2)),
        ("z", Some(2)),
    ] {
        assert_eq!(leaders.find(&key("k", name)), wanted.map(at), "{name}");
    }
    assert_eq!(leaders.find(&key("j", "a")), None);
    assert_eq!(leaders.find(&key("l", "a")), None);
}

#[test]
fn a_newer_leader_replaces_an_older_one_of_the_same_keys() {
    let mut leaders = Leaders::default();
    leaders.add(span("k", "", ""), at(1));
    leaders.add(span("k", "m", ""), at(2));
    assert_eq!(leaders.find(&key("k", "a")), Some(at(1)));
    assert_eq!(leaders.find(&key("k", "m")), Some(at(2)));
    // The range was cut once more, and its upper end is not known yet.
    leaders.add(span("k", "c", "f"), at(3));
    assert_eq!(leaders.find(&key("k", "d")), Some(at(3)));
    assert_eq!(leaders.find(&key("k", "g")), None);
    leaders.add(span("k", "", ""), at(4));
    for name in ["a", "d", "g", "z"] {
        assert_eq!(leaders.find(&key("k", name)), Some(at(4)), "{name}");
    }
}

#[test]
fn no_more_than_so_many_are_remembered() {
    let mut leaders = Leaders::default();
    for number in 0..2 * RANGES_MAX {
        let (start, end) = (format!("{number:08}"), format!("{:08}", number + 1));
        leaders.add(span("k", &start, &end), at(1));
        assert!(leaders.0.len() <= RANGES_MAX);
    }
}
