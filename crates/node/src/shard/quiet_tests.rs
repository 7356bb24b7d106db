#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

fn entry(keyspace: u32, partition: u16, key: &'static str) -> Entry {
    Entry {
        kind: Kind::Put,
        copy: false,
        from: 3,
        partition,
        keyspace,
        stamp: Stamp::new(Version(10), Origin::new(2, 0, 1)),
        logged: None,
        expiry_ms: None,
        is_expiry: false,
        replaces: None,
        key: key.into(),
        value: Bytes::new(),
    }
}

fn keys(partition: u16, first: &'static str, last: &'static str) -> Keys {
    Keys {
        keyspace: 1,
        partition,
        first: first.into(),
        last: last.into(),
    }
}

#[test]
fn only_what_is_in_a_range_waits_and_only_while_somebody_keeps_it() {
    let quiet = Rc::new(Quiet::default());
    let one = quiet.hold(vec![keys(3, "b", "d"), keys(4, "x", "x")]);
    let other = quiet.hold(vec![keys(3, "c", "f")]);
    let cases = [
        ("before", 1, 3, "a", [false, false]),
        ("the first", 1, 3, "b", [true, false]),
        ("in both", 1, 3, "d", [true, true]),
        ("in the other", 1, 3, "f", [true, true]),
        ("behind", 1, 3, "fa", [false, false]),
        ("the only key", 1, 4, "x", [true, false]),
        ("beside it", 1, 4, "xa", [false, false]),
        ("another partition", 1, 5, "c", [false, false]),
        ("another keyspace", 2, 3, "c", [false, false]),
    ];
    let look = |at: usize| {
        for (what, keyspace, partition, key, expected) in cases {
            let holds = quiet.holds(&entry(keyspace, partition, key));
            assert_eq!(holds, expected[at], "{what}");
        }
    };
    assert!(quiet.is_any());
    look(0);
    drop(one);
    look(1);
    drop(other);
    assert!(!quiet.is_any());
    assert!(!quiet.holds(&entry(1, 3, "d")));
}

#[test]
fn a_vector_is_of_no_key() {
    let quiet = Rc::new(Quiet::default());
    let _still = quiet.hold(vec![keys(3, "", "z")]);
    let vector = Entry {
        kind: Kind::Vector,
        ..entry(1, 3, "b")
    };
    assert!(!quiet.holds(&vector));
}

#[test]
fn who_stops_waiting_half_way_stops_nobody_else() {
    let quiet = Rc::new(Quiet::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (one, other) = (quiet.pause(), quiet.pause());
        let given_up = async {
            let _kept = one;
            std::future::pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = given_up => {}
            () = std::future::ready(()) => {}
        }
        assert!(quiet.is_paused());
        drop(other);
        assert!(!quiet.is_paused());
        quiet.woken().await;
    });
}

/// Whether `all` can be kept now.
async fn is_free(quiet: &Rc<Quiet>, all: Vec<Keys>) -> bool {
    let mut keeping = std::pin::pin!(quiet.keep(all));
    tokio::select! {
        biased;
        _still = &mut keeping => true,
        () = std::future::ready(()) => false,
    }
}

#[test]
fn ranges_that_overlap_are_kept_one_after_another() {
    let quiet = Rc::new(Quiet::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let still = quiet.keep(vec![keys(3, "b", "d"), keys(4, "x", "x")]).await;
        for (first, last, free) in [
            ("a", "a~", true),
            ("a", "b", false),
            ("b", "d", false),
            ("c", "c", false),
            ("a", "z", false),
            ("d", "e", false),
            ("da", "e", true),
        ] {
            assert_eq!(
                is_free(&quiet, vec![keys(3, first, last)]).await,
                free,
                "{first} {last}"
            );
        }
        assert!(is_free(&quiet, vec![keys(5, "b", "d")]).await);
        // All or nothing of several.
        assert!(!is_free(&quiet, vec![keys(5, "b", "d"), keys(4, "w", "y")]).await);
        assert!(!quiet.holds(&entry(1, 5, "c")));
        let waits = async { drop(quiet.keep(vec![keys(3, "c", "z")]).await) };
        let frees = async {
            tokio::task::yield_now().await;
            drop(still);
        };
        tokio::join!(waits, frees);
        assert!(!quiet.is_any());
    });
}
