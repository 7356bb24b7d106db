#![allow(clippy::unwrap_used, clippy::expect_used)]

use dunlin_entry::Stamp;
use dunlin_proto::ShardAddress;

use super::*;
use crate::replication::testing::{among, until};

fn item(expiry_ms: Option<u64>, tombstone: bool) -> Item {
    Item {
        key: "k".into(),
        stamp: Stamp::default(),
        from: 3,
        tombstone,
        expiry_ms,
        is_expiry: false,
        replaces: None,
        logged: None,
        value: "v".into(),
    }
}

/// A shard that starts in a cluster of these nodes, of which it reaches none.
fn starting(nodes: &[&str], test: impl AsyncFnOnce(Rc<Shard>)) {
    among(nodes, async |start| test(start.shard(2).await).await);
}

#[test]
fn what_expires_is_not_shown_by_a_clock_that_was_not_compared() {
    starting(&["n1", "n2"], async |shard| {
        let later_ms = shard.clock.now_ms() + 86_400_000;
        assert_eq!(shard.trust(), Trust::Starting);
        for expiry_ms in [1, later_ms] {
            let told = shard.shows(&item(Some(expiry_ms), false));
            assert!(matches!(told, Err(Failure::Clock(_))), "{told:?}");
        }
        assert!(shard.shows(&item(None, false)).unwrap());
        assert!(!shard.shows(&item(None, true)).unwrap());
    });
}

#[test]
fn who_is_alone_goes_by_its_own_clock() {
    starting(&["n1"], async |shard| {
        until("it is trusted", || shard.trust() == Trust::Trusted).await;
        let now_ms = shard.clock.now_ms();
        assert!(!shard.shows(&item(Some(now_ms), false)).unwrap());
        assert!(
            shard
                .shows(&item(Some(now_ms + 86_400_000), false))
                .unwrap()
        );
    });
}

/// Clients are sent to who is ready, and by it to whom it holds for ready.
#[test]
fn who_has_not_compared_its_clock_is_not_ready() {
    starting(&["n1", "n2"], async |shard| {
        let other = ShardAddress { node: 2, shard: 0 };
        let is_named = async || {
            let lacks = shard.lacks().await;
            lacks
                .iter()
                .any(|lack| lack.shard == "n1/0" && lack.why.contains("compare its clock"))
        };
        shard.refill.set(None, false);
        assert_eq!(shard.trust(), Trust::Starting);
        assert!(is_named().await);
        assert!(!shard.stands_to(other).has_heard);
        until("it goes on alone", || shard.trust() == Trust::Alone).await;
        assert!(!is_named().await);
        assert!(shard.stands_to(other).has_heard);
    });
}
