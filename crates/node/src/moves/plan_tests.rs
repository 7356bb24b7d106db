#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn shard(node: u16) -> ShardAddress {
    ShardAddress { node, shard: 0 }
}

fn shards(nodes: &[u16]) -> Vec<ShardAddress> {
    nodes.iter().map(|node| shard(*node)).collect()
}

/// Of a keyspace whose puts nobody counted, or of one that keeps and has kept `now` copies.
fn widths(replicas: u8, now: u8, is_counted: bool) -> Widths {
    Widths {
        replicas,
        now,
        is_counted,
    }
}

fn taken(old: &[u16], new: &[u16], by: u16, dead: &[u16]) -> Vec<(u16, u8)> {
    taken_of(widths(1, 1, false), old, new, by, dead)
}

fn taken_of(widths: Widths, old: &[u16], new: &[u16], by: u16, dead: &[u16]) -> Vec<(u16, u8)> {
    let (old, new) = (shards(old), shards(new));
    let takes = takes(&old, &new, shard(by), widths, |n| dead.contains(&n));
    let pairs = takes.into_iter().flat_map(|(source, froms)| {
        (1..=5)
            .filter(move |from| froms.has(*from))
            .map(move |from| (source.node, from))
    });
    pairs.collect()
}

#[test]
fn a_newcomer_inherits_from_the_one_it_pushes_out() {
    // Node 4 joins in second place of 1, 2, 3: with from 2 it stands for 2, with 3 for 3, and of
    // what all four hold it gets what all have.
    assert_eq!(
        taken(&[1, 2, 3], &[1, 4, 2, 3], 4, &[]),
        [
            (1, 4),
            (1, 5),
            (2, 2),
            (2, 4),
            (2, 5),
            (3, 3),
            (3, 4),
            (3, 5)
        ]
    );
    assert_eq!(taken(&[1, 2, 3], &[1, 4, 2, 3], 1, &[]), []);
}

#[test]
fn who_takes_the_place_of_a_dead_one_asks_all_that_live() {
    assert_eq!(taken(&[1, 2, 3, 4], &[1, 3, 4], 4, &[2]), [(1, 3), (3, 3)]);
}

#[test]
fn what_only_a_leaver_holds_is_inherited() {
    // With from 4, node 2 leaves without a newcomer.
    let all: Vec<_> = [1, 3, 4]
        .iter()
        .flat_map(|by| taken(&[1, 2, 3, 4], &[1, 3, 4], *by, &[]))
        .filter(|(source, from)| *source == 2 && *from == 4)
        .collect();
    assert_eq!(all.len(), 1);
}

#[test]
fn each_record_is_taken_over_among_as_many_replicas_as_store_it() {
    let each = |widths: Widths, most: usize| -> Vec<(usize, Vec<u8>)> {
        let has = |froms: Froms| (1..=9).filter(|from| froms.has(*from)).collect();
        widths.each(most).map(|(from, f)| (from, has(f))).collect()
    };
    // Three replicas, and nobody ever asked for more.
    assert_eq!(each(widths(3, 3, true), 5), [(3, (1..=9).collect())]);
    // What was written before it was widened stays where it was.
    assert_eq!(
        each(widths(3, 5, true), 7),
        [(3, vec![1, 2, 3]), (4, vec![4]), (5, (5..=9).collect())]
    );
    // Of an old version, with puts to one and to five, and deletes that go to all.
    assert_eq!(
        each(widths(3, 3, false), 5),
        [
            (1, vec![1]),
            (2, vec![2]),
            (3, vec![1, 2, 3]),
            (4, vec![4]),
            (5, (5..=9).collect())
        ]
    );
    // Fewer nodes than replicas.
    assert_eq!(each(widths(3, 5, true), 2), [(2, (1..=9).collect())]);
    assert_eq!(
        each(widths(3, 3, false), 2),
        [(1, vec![1]), (2, (1..=9).collect())]
    );
}

#[test]
fn who_stays_takes_over_only_what_an_old_version_stored_elsewhere() {
    let (now, old) = (widths(3, 3, true), widths(3, 3, false));
    // Node 4 takes the place of 1, and with it all that 1 has.
    let all: Vec<_> = (1..=5).map(|from| (1, from)).collect();
    assert_eq!(taken_of(now, &[1, 2, 3], &[2, 3, 4], 4, &[]), all);
    assert_eq!(taken_of(old, &[1, 2, 3], &[2, 3, 4], 4, &[]), all);
    // Node 2 is the first now. It has whatever was given to three, not what was given to one.
    assert_eq!(taken_of(now, &[1, 2, 3], &[2, 3, 4], 2, &[]), []);
    assert_eq!(taken_of(old, &[1, 2, 3], &[2, 3, 4], 2, &[]), [(1, 1)]);
}

proptest! {
    /// Whichever replicas acknowledged a write, no fewer of the new ones have it afterwards. Where
    /// the replicas become fewer by some, the holders may, too, but at least one stays: who read
    /// enough of the old ones to meet the write needs no more of the new ones.
    #[test]
    fn a_quorum_stays_one(
        nodes in Just((1u16..=7).collect::<Vec<_>>()).prop_shuffle(),
        old_mask in 1u8..128,
        new_mask in 1u8..128,
        from in 1u8..=7,
        acked_mask in any::<u8>(),
    ) {
        let members = |mask: u8| -> Vec<u16> {
            nodes.iter().copied().filter(|n| mask & (1 << (n - 1)) != 0).collect()
        };
        let (old, new) = (members(old_mask), members(new_mask));
        let before: Vec<u16> = old.iter().copied().take(from.into()).collect();
        let after: Vec<u16> = new.iter().copied().take(from.into()).collect();
        let acked: BTreeSet<u16> = before
            .iter()
            .copied()
            .filter(|n| acked_mask & (1 << (n - 1)) != 0)
            .collect();
        let has_taken = |node: u16| {
            takes(&shards(&old), &shards(&new), shard(node), widths(1, 1, false), |_| false)
                .iter()
                .any(|(source, froms)| acked.contains(&source.node) && froms.has(from))
        };
        let holders = after.iter().filter(|node| acked.contains(node) || has_taken(**node));
        let fewer = before.len().saturating_sub(after.len());
        let least = acked.len().saturating_sub(fewer).max(usize::from(!acked.is_empty()));
        prop_assert!(holders.count() >= least.min(after.len()));
    }
}
