//! Transactions that lock a key wait for each other instead of being refused.

use std::thread;
use std::time::Duration;

use crate::harness::curl::{curl, curl_with};
use crate::harness::eventually;
use crate::harness::up::Up;

use super::txn::{Open, bank};

const CLIENTS: usize = 8;
const EACH: usize = 5;

/// One more, over several requests.
fn add_one(up: &Up, client: usize) {
    // A leader may be lost when a machine stands still for too long: nothing happened then.
    eventually("a leader is found", Duration::from_secs(60), || {
        let open = Open::begin(up, client % 3);
        let url = open.url((client + 1) % 3, "/keyspaces/bank/keys/hits");
        let read = curl(&[&format!("{url}?lock=true")]);
        let number: usize = match read.status {
            503 => return false,
            404 => 0,
            _ => read.text().parse().unwrap(),
        };
        open.put(client % 3, "hits", &(number + 1).to_string());
        let committed = open.end(client % 3, "commit");
        assert!(
            matches!(committed.status, 200 | 503),
            "{}",
            committed.text()
        );
        committed.status == 200
    });
}

#[test]
fn transactions_that_lock_a_key_are_not_refused_and_none_is_lost() {
    let up = Up::nodes(3);
    bank(&up);
    thread::scope(|scope| {
        for client in 0..CLIENTS {
            let up = &up;
            scope.spawn(move || (0..EACH).for_each(|_| add_one(up, client)));
        }
    });
    let counted = curl(&[&up.url(0, "/v1/keyspaces/bank/keys/hits")]);
    assert_eq!(counted.text(), (CLIENTS * EACH).to_string());
    let metrics = curl(&[&up.url(0, "/metrics")]);
    for name in ["dunlin_txn_waiting{", "dunlin_txn_refusals_total{"] {
        assert!(metrics.text().contains(name), "{name} is missing");
    }
}

#[test]
fn a_transaction_locks_one_key_even_after_other_reads() {
    let up = Up::nodes(3);
    bank(&up);
    let open = Open::begin(&up, 0);
    let get = |open: &Open<'_>, node, key: &str| {
        curl(&[&open.url(node, &format!("/keyspaces/bank/keys/{key}"))])
    };
    let wrong = get(&open, 0, "1?lock=yes");
    assert_eq!(wrong.status, 400, "{}", wrong.text());
    assert_eq!(get(&open, 1, "1?lock=true").status, 404);
    // Again, and without.
    assert_eq!(get(&open, 2, "1?lock=true").status, 404);
    assert_eq!(get(&open, 2, "9").status, 404);
    let other = get(&open, 0, "9?lock=true");
    assert_eq!(other.status, 400, "{}", other.text());
    assert!(
        other.text().contains("has locked bank/1"),
        "{}",
        other.text()
    );
    assert_eq!(open.end(1, "abort").status, 200);

    // What it has read before must be as it was.
    for changes in [false, true] {
        let open = Open::begin(&up, 1);
        let before = get(&open, 0, "9?lock=false");
        if changes {
            let url = up.url(2, "/v1/keyspaces/bank/keys/9");
            assert_eq!(
                curl_with(&["-X", "PUT", "-d", "@-", &url], b"new").status,
                201
            );
        }
        let late = get(&open, 2, "1?lock=true");
        assert_eq!(
            late.status,
            if changes { 409 } else { 404 },
            "{}",
            late.text()
        );
        let again = get(&open, 2, "9");
        assert_eq!(again.status, if changes { 410 } else { before.status });
    }
    // What it has written itself it reads without waiting.
    let open = Open::begin(&up, 2);
    open.put(0, "4", "mine");
    assert_eq!(get(&open, 1, "4?lock=true").text(), "mine");
    assert_eq!(open.end(1, "commit").status, 200);
}

#[test]
fn a_lock_whose_holder_has_gone_away_ends_by_itself_and_nothing_relies_on_it() {
    let up = Up::nodes(3);
    bank(&up);
    let gone = Open::begin(&up, 0);
    let locked =
        |open: &Open<'_>, node| curl(&[&open.url(node, "/keyspaces/bank/keys/1?lock=true")]);
    assert_eq!(locked(&gone, 0).status, 404);
    gone.put(0, "1", "late");
    // Others wait for it no longer than a second, and write the key.
    let next = Open::begin(&up, 1);
    assert_eq!(locked(&next, 2).status, 404);
    next.put(1, "1", "next");
    assert_eq!(next.end(1, "commit").status, 200);
    // The one before is refused.
    assert_eq!(gone.end(0, "commit").status, 409);
    let url = up.url(2, "/v1/keyspaces/bank/keys/1");
    assert_eq!(curl(&[&url]).text(), "next");
    // A write of the key alone does not wait for locks.
    let held = Open::begin(&up, 0);
    assert_eq!(locked(&held, 0).status, 200);
    let put = curl_with(&["-X", "PUT", "--data-binary", "@-", &url], b"alone");
    assert_eq!(put.status, 201, "{}", put.text());
}
