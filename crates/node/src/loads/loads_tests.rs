#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_metadata::KeyspaceSettings;

use super::*;
use crate::replication::testing::{among, until};

/// Another shard of this node.
const WRITER: Origin = Origin::new(1, 1, 1).of_loads();

/// A replica and its part in loads.
struct Tried {
    shard: Rc<Shard>,
    loads: Rc<Loads>,
    keyspace: u32,
    begun_ms: u64,
}

impl Tried {
    fn version(&self, number: u16) -> Version {
        Version::new(self.begun_ms, number)
    }

    fn step(&self, number: u16, after: Version, step: LoadStep) -> LoadRequest {
        LoadRequest {
            stamp: Stamp::new(self.version(number), WRITER),
            after,
            keyspace: self.keyspace,
            from: 1,
            step,
        }
    }

    async fn take(&self, number: u16, after: Version, step: LoadStep) -> LoadAnswer {
        self.loads.take(self.step(number, after, step)).await
    }

    async fn part(&self, number: u16, keys: &[&str]) -> LoadAnswer {
        let mut all = pairs::Pairs::default();
        for key in keys {
            all.push(key.as_bytes(), &[b'v'; 40 << 10]).unwrap();
        }
        let pairs = Bytes::copy_from_slice(all.seal().encoded());
        let step = LoadStep::Part {
            partition: 0,
            pairs,
        };
        self.take(number, Version(0), step).await
    }

    async fn commit(&self, number: u16, after: Version, leave_out: &[u16]) -> bool {
        let leave_out = leave_out.to_vec();
        let answer = self.take(number, after, LoadStep::Commit { leave_out });
        matches!(answer.await, LoadAnswer::Committed { .. })
    }

    async fn put(&self, key: &'static str, number: u16) {
        let entry = Entry {
            kind: Kind::Put,
            copy: true,
            from: 1,
            partition: 0,
            keyspace: self.keyspace,
            stamp: Stamp::new(self.version(number), Origin::new(3, 0, 1)),
            logged: None,
            expiry_ms: None,
            is_expiry: false,
            replaces: None,
            key: key.into(),
            value: "put".into(),
        };
        self.shard.copies_applied(vec![entry]).await.unwrap();
    }

    fn value_bytes(&self, key: &'static str) -> Option<usize> {
        let held = self.shard.read_blocking(self.keyspace, 0, &key.into());
        held.unwrap().map(|item| item.value.len())
    }

    fn has(&self) -> Version {
        self.shard.has_up_to(WRITER)
    }
}

fn trying(act: impl AsyncFnOnce(Tried)) {
    among(&["n1"], async |start| {
        let settings = KeyspaceSettings {
            replicas: 1,
            partitions: 1,
            ..KeyspaceSettings::default()
        };
        let made = start.metadata.create_keyspace("k", settings).await.unwrap();
        let shard = start.shard(1).await;
        until("it answers", || {
            shard.answers() && shard.placement().keyspace(made.id).is_some()
        })
        .await;
        let begun_ms = shard.clock().now_ms();
        act(Tried {
            loads: Loads::new(shard.clone()),
            shard,
            keyspace: made.id,
            begun_ms,
        })
        .await;
    });
}

const LOADED: Option<usize> = Some(40 << 10);

fn is_clear(answer: &LoadAnswer) -> bool {
    matches!(answer, LoadAnswer::Prepared { in_the_way, .. } if in_the_way.is_empty())
}

#[test]
fn what_is_prepared_and_committed_is_here_and_said_to_be_once() {
    trying(async |tried| {
        let none = Version(0);
        assert!(!tried.commit(1, none, &[]).await, "nothing came");
        assert_eq!(tried.part(1, &["a", "b"]).await, LoadAnswer::Done);
        assert!(!tried.commit(1, none, &[]).await, "it was not prepared");
        assert_eq!(tried.part(1, &["a", "b"]).await, LoadAnswer::Done);
        let clear = tried.take(1, none, LoadStep::Prepare).await;
        assert!(is_clear(&clear), "{clear:?}");
        assert_eq!(tried.value_bytes("a"), None);
        assert!(tried.commit(1, none, &[]).await);
        assert_eq!(tried.value_bytes("a"), LOADED);
        assert_eq!(tried.value_bytes("b"), LOADED);
        assert_eq!(tried.has(), tried.version(1));
        assert!(!tried.commit(1, none, &[]).await, "it is here");
        // The one after the next is not taken.
        assert_eq!(tried.part(3, &["c"]).await, LoadAnswer::Done);
        let early = tried.take(3, tried.version(2), LoadStep::Prepare).await;
        assert_eq!(early, LoadAnswer::Refused);
    });
}

#[test]
fn what_has_something_in_its_way_is_told_and_left_out() {
    trying(async |tried| {
        let none = Version(0);
        tried.put("b", 1).await;
        assert_eq!(tried.part(2, &["a", "c"]).await, LoadAnswer::Done);
        let told = tried.take(2, none, LoadStep::Prepare).await;
        let LoadAnswer::Prepared { in_the_way, .. } = told else {
            panic!("{told:?}");
        };
        assert_eq!(in_the_way, [0]);
        assert!(tried.commit(2, none, &[0]).await);
        assert_eq!(
            (tried.value_bytes("a"), tried.value_bytes("c")),
            (None, None)
        );
        assert_eq!(tried.has(), tried.version(2), "all that was meant for it");
    });
}

#[test]
fn what_came_in_between_is_judged_record_by_record() {
    trying(async |tried| {
        let none = Version(0);
        assert_eq!(tried.part(5, &["a", "b", "c"]).await, LoadAnswer::Done);
        assert!(is_clear(&tried.take(5, none, LoadStep::Prepare).await));
        tried.put("a", 9).await;
        tried.put("c", 1).await;
        assert!(tried.commit(5, none, &[]).await);
        assert_eq!(tried.value_bytes("a"), Some(3), "the newer stays");
        assert_eq!(tried.value_bytes("b"), LOADED);
        assert_eq!(tried.value_bytes("c"), LOADED, "the older is replaced");
    });
}

#[test]
fn one_that_was_given_up_is_not_taken_and_a_later_one_takes_its_place() {
    trying(async |tried| {
        let none = Version(0);
        assert_eq!(tried.part(1, &["a", "b"]).await, LoadAnswer::Done);
        assert!(is_clear(&tried.take(1, none, LoadStep::Prepare).await));
        assert_eq!(tried.take(1, none, LoadStep::Drop).await, LoadAnswer::Done);
        assert!(!tried.commit(1, none, &[]).await);
        assert_eq!(tried.part(3, &["c"]).await, LoadAnswer::Done);
        assert_eq!(
            tried.part(2, &["b"]).await,
            LoadAnswer::Refused,
            "it is late"
        );
        assert!(is_clear(&tried.take(3, none, LoadStep::Prepare).await));
        assert!(tried.commit(3, none, &[]).await);
        assert_eq!(tried.value_bytes("a"), None);
        assert_eq!(tried.value_bytes("c"), LOADED);
    });
}

#[test]
fn what_nobody_waits_for_any_more_goes_on_to_its_end() {
    trying(async |tried| {
        let none = Version(0);
        assert_eq!(tried.part(1, &["a", "b"]).await, LoadAnswer::Done);
        assert!(is_clear(&tried.take(1, none, LoadStep::Prepare).await));
        let commit = LoadStep::Commit { leave_out: vec![] };
        tokio::select! {
            biased;
            _ = tried.take(1, none, commit) => panic!("it cannot be over at once"),
            () = std::future::ready(()) => {}
        }
        until("it is here", || tried.has() == tried.version(1)).await;
        assert_eq!(tried.value_bytes("b"), LOADED);
        // And others are applied again.
        tried.put("aa", 7).await;
        assert_eq!(tried.value_bytes("aa"), Some(3));
    });
}
