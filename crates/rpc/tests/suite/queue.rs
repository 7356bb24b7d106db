//! Calls between threads of one process.

use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{CallError, QueueOptions, Reply, queue, refusal, serve_inbox};
use futures_util::future::join_all;
use std::cell::RefCell;
use std::rc::Rc;

#[test]
fn two_threads_call_each_other() {
    let (to_left, left_inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
    let (to_right, right_inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
    let shard = |inbox, other: dunlin_rpc::QueueAddress<Bytes, Bytes>| {
        move || {
            local(async move {
                let serving = tokio::task::spawn_local(serve_inbox(inbox, echo()));
                let caller = other.caller();
                drop(other);
                for round in 0..200u32 {
                    let requests: Vec<Bytes> = (0..100u32)
                        .map(|n| Bytes::copy_from_slice(&(round * 100 + n).to_le_bytes()))
                        .collect();
                    let calls = requests.iter().map(|r| caller.call(r.clone(), 10 * SECOND));
                    for (request, answer) in requests.iter().zip(join_all(calls).await) {
                        assert_eq!(answer.unwrap(), request);
                    }
                }
                drop(caller);
                // Ends when the other side has dropped its caller.
                serving.await.unwrap();
            });
        }
    };
    let left = std::thread::spawn(shard(left_inbox, to_right));
    let right = std::thread::spawn(shard(right_inbox, to_left));
    left.join().unwrap();
    right.join().unwrap();
}

#[test]
fn order_weight_and_refusals_are_those_of_a_connection() {
    local(async {
        let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        let service: EchoService = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
            log.borrow_mut().push(request.clone());
            match &request[..] {
                b"refuse" => reply.refuse(9, "no"),
                b"drop" => drop(reply),
                _ => reply.send(request),
            }
        });
        tokio::task::spawn_local(serve_inbox(inbox, service));
        let caller = address.caller();
        let requests = ["a", "refuse", "drop", "b"].map(Bytes::from);
        let answers = join_all(requests.clone().map(|r| caller.call(r, SECOND))).await;
        assert_eq!(answers[0], Ok("a".into()));
        assert_eq!(
            answers[1],
            Err(CallError::Refused {
                code: 9,
                text: "no".into()
            })
        );
        assert!(matches!(
            answers[2],
            Err(CallError::Refused {
                code: refusal::DROPPED,
                ..
            })
        ));
        assert_eq!(answers[3], Ok("b".into()));
        assert_eq!(*seen.borrow(), requests);
        let stats = caller.stats();
        assert_eq!(
            (stats.sent_bytes, stats.received_bytes, stats.queued_bytes),
            (12, 2, 0)
        );
    });
}

#[test]
fn a_queue_that_is_not_emptied_overloads_its_callers() {
    paused(async {
        let options = QueueOptions {
            queue_bytes: 100,
            outstanding_max: 50,
        };
        let (address, inbox) = queue::<Bytes, Bytes>(options);
        let (first, second) = (address.caller(), address.caller());
        let body = Bytes::from(vec![0; 40]);
        let heavy = first.call(Bytes::from(vec![0; 1000]), SECOND);
        assert_eq!(
            second.call(body.clone(), SECOND).await,
            Err(CallError::Overloaded)
        );
        assert_eq!(heavy.await, Err(CallError::Timeout(SECOND)));
        // Giving up does not make the request lighter; serving it does.
        assert_eq!(
            second.call(body.clone(), SECOND).await,
            Err(CallError::Overloaded)
        );
        tokio::task::spawn_local(serve_inbox(inbox, echo()));
        sleep_a_turn().await;
        let (a, b) = (
            first.call(body.clone(), SECOND),
            second.call(body.clone(), SECOND),
        );
        let third = second.call(body.clone(), SECOND);
        assert_eq!(third.await, Err(CallError::Overloaded));
        assert_eq!((a.await, b.await), (Ok(body.clone()), Ok(body)));
        let many: Vec<_> = (0..51).map(|_| first.call(Bytes::new(), SECOND)).collect();
        let refused = join_all(many)
            .await
            .into_iter()
            .filter(Result::is_err)
            .count();
        assert_eq!(refused, 1);
    });
}

async fn sleep_a_turn() {
    tokio::time::sleep(SECOND / 100).await;
}

#[test]
fn calls_time_out_on_time_even_behind_longer_ones() {
    paused(async {
        let (address, _inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
        let caller = address.caller();
        let long = caller.call("long".into(), 60 * SECOND);
        sleep_a_turn().await;
        let began = tokio::time::Instant::now();
        let short = caller.call("short".into(), SECOND / 10).await;
        assert_eq!(short, Err(CallError::Timeout(SECOND / 10)));
        assert!(began.elapsed() < SECOND / 5, "{:?}", began.elapsed());
        assert_eq!(long.await, Err(CallError::Timeout(60 * SECOND)));
    });
}

#[test]
fn an_inbox_that_goes_cuts_its_callers_off() {
    local(async {
        let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
        let caller = address.caller();
        assert!(caller.is_connected());
        let held = Rc::new(RefCell::new(Vec::new()));
        let holder = held.clone();
        let service: EchoService =
            Rc::new(move |_: Bytes, reply: Reply<Bytes>| holder.borrow_mut().push(reply));
        let serving = tokio::task::spawn_local(serve_inbox(inbox, service));
        let taken = caller.call("taken".into(), SECOND);
        sleep_a_turn().await;
        let queued = caller.call("queued".into(), SECOND);
        serving.abort();
        assert_eq!(queued.await, Err(CallError::Disconnected));
        held.borrow_mut().clear();
        assert_eq!(taken.await, Err(CallError::Disconnected));
        assert_eq!(
            caller.call("later".into(), SECOND).await,
            Err(CallError::Disconnected)
        );
        assert!(!caller.is_connected());
    });
}
