#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Version};
use proptest::prelude::*;

use super::*;

fn vector(of: &[(u16, u64)]) -> Vector {
    let seen = |(node, version): &(u16, u64)| (Origin::new(*node, 0, 1), Version(*version));
    of.iter().map(seen).collect()
}

fn token() -> Token {
    let hint = Hint {
        shard: ShardAddress { node: 2, shard: 1 },
        incarnation: 7,
        index: 99,
    };
    let far = vector(&[(1, 10), (2, 20)]);
    let near = vector(&[(1, 5)]);
    let vectors = [(0, far.clone()), (1, far.clone()), (2, near), (3, far)];
    Token::new(0xfeed, 4, Some(hint), vectors)
}

#[test]
fn its_text_says_what_it_is_and_needs_no_escapes() {
    let text = token().to_string();
    assert_eq!(text.parse(), Ok(token()));
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    assert!(text.chars().all(fits), "{text}");
    assert_eq!(token().vectors().count(), 4);
    assert_eq!(token().groups.len(), 2);
}

#[test]
fn partitions_that_are_equally_far_cost_a_few_bytes_however_many() {
    let far = vector(&[(1, 10), (2, 20), (3, 30)]);
    let text = |partitions: u16| {
        let vectors = (0..partitions).map(|partition| (partition, far.clone()));
        Token::new(1, 1, None, vectors).to_string()
    };
    assert_eq!(text(4_096).len(), text(1).len());
    assert_eq!(text(64).len(), 130);
}

#[test]
fn a_token_of_another_cluster_or_keyspace_is_refused() {
    assert_eq!(token().check(0xfeed, 4), Ok(()));
    let cluster = token().check(0xbeef, 4);
    assert!(matches!(cluster, Err(TokenError::Cluster { .. })));
    let keyspace = token().check(0xfeed, 5).map_err(|e| e.to_string());
    let told = "the token is of keyspace number 4, not 5".to_owned();
    assert_eq!(keyspace, Err(told));
}

#[test]
fn what_is_no_token_is_refused_by_its_kind() {
    let parse = |text: &str| text.parse::<Token>();
    assert!(matches!(parse(""), Err(TokenError::Malformed(_))));
    assert!(matches!(parse("a token!"), Err(TokenError::Malformed(_))));
    assert!(matches!(parse("AwAAAA"), Err(TokenError::Form(3))));
    assert!(matches!(parse("AQ"), Err(TokenError::Damaged)));
    let text = token().to_string();
    for at in 2..text.len() {
        let cut = parse(&text[..at]);
        assert!(cut.is_err(), "{cut:?}");
        let other = if text.as_bytes()[at] == b'A' {
            "B"
        } else {
            "A"
        };
        let changed = parse(&format!("{}{other}{}", &text[..at], &text[at + 1..]));
        assert!(changed.is_err(), "{changed:?}");
    }
}

#[test]
fn partitions_that_stand_in_it_twice_are_refused() {
    let far = vector(&[(1, 10)]);
    let group = |vector: &Vector| Group {
        vector: vector.clone(),
        partitions: vec![3],
    };
    let twice = Token {
        groups: vec![group(&far), group(&vector(&[(1, 11)]))],
        ..token()
    };
    let read = twice.to_string().parse::<Token>();
    assert!(matches!(read, Err(TokenError::Malformed(_))), "{read:?}");
}

#[test]
fn a_hint_counts_where_it_is_of_all_that_is_asked_for() {
    let part = |node, index, partition| {
        let shard = ShardAddress { node, shard: 0 };
        let hint = Hint {
            shard,
            incarnation: 1,
            index,
        };
        Token::new(1, 1, Some(hint), [(partition, vector(&[(1, 5)]))])
    };
    let mut token = part(1, 30, 0);
    token.advance(&part(1, 20, 1));
    token.advance(&part(2, 90, 2));
    let of = |node, partitions: &[u16]| {
        let hint = token.hint(ShardAddress { node, shard: 0 }, partitions);
        hint.map(|hint| hint.index)
    };
    // Of two of one log the earlier.
    assert_eq!(of(1, &[0, 1]), Some(20));
    assert_eq!(of(1, &[0, 2]), None);
    assert_eq!(of(2, &[2]), Some(90));
    assert_eq!(of(3, &[2]), None);
    assert!(token.names(&[0, 1, 2]) && !token.names(&[0, 3]));
}

#[test]
fn a_place_within_a_snapshot_travels_with_its_partition() {
    let within = Within {
        is_complete: true,
        vector: vector(&[(1, 7)]),
        next: Bytes::from_static(b"k\0"),
    };
    let mut token = token();
    token.set_within(2, Some(within.clone()));
    let mut again: Token = token.to_string().parse().expect("a token");
    assert_eq!((&again, again.within(2)), (&token, Some(&within)));
    assert_eq!(again.clone().narrow(&[2]).within(2), Some(&within));
    assert_eq!(again.clone().narrow(&[1]).within(2), None);
    // What goes on with the partition ends it.
    again.advance(&Token::new(0xfeed, 4, None, [(2, vector(&[(1, 8)]))]));
    assert_eq!(again.within(2), None);
    token.set_vector(2, vector(&[(1, 10), (2, 20)]));
    assert_eq!(token.groups.len(), 1);
    // Of a partition that is not named it says nothing.
    token.set_within(9, Some(within));
    assert!(token.to_string().parse::<Token>().is_err());
}

proptest! {
    #[test]
    fn any_token_is_read_as_it_was_written(
        cluster: u128,
        keyspace: u32,
        hint: Option<(u16, u16, u32, u64)>,
        vectors in prop::collection::btree_map(any::<u16>(), prop::collection::vec((0u16..4, 1u64..4), 0..3), 0..20),
    ) {
        let hint = hint.map(|(node, shard, incarnation, index)| Hint {
            shard: ShardAddress { node, shard },
            incarnation,
            index,
        });
        let vectors = vectors.into_iter().map(|(partition, of)| (partition, vector(&of)));
        let token = Token::new(cluster, keyspace, hint, vectors);
        prop_assert_eq!(token.to_string().parse(), Ok(token));
    }

    #[test]
    fn tokens_of_parts_become_one_of_all_whichever_comes_first(
        parts in prop::collection::vec((0u16..3, 1u64..9, prop::collection::btree_set(0u16..12, 0..6)), 0..8),
    ) {
        let mut all = Token::new(1, 2, None, []);
        let mut last = std::collections::BTreeMap::new();
        for (node, index, partitions) in parts {
            let shard = ShardAddress { node, shard: 0 };
            let hint = Hint { shard, incarnation: 1, index };
            let of = partitions.iter().map(|p| (*p, vector(&[(node, index)])));
            all.advance(&Token::new(1, 2, Some(hint), of));
            last.extend(partitions.iter().map(|p| (*p, (shard, index))));
        }
        prop_assert_eq!(all.to_string().parse(), Ok(all.clone()));
        prop_assert_eq!(all.vectors().count(), last.len());
        for (partition, (shard, index)) in last {
            let alone = all.clone().narrow(&[partition]);
            let hint = alone.hint(shard, &[partition]);
            prop_assert_eq!(hint.map(|hint| hint.index), Some(index));
            let seen = alone.vectors().map(|(_, v)| v.clone()).next();
            prop_assert_eq!(seen, Some(vector(&[(shard.node, index)])));
        }
    }

    #[test]
    fn any_bytes_are_text_and_back(bytes: Vec<u8>) {
        prop_assert_eq!(from_text(&to_text(&bytes)), Some(bytes));
    }
}
