//! Requests that are not answered, over sockets and between threads.

use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{
    CallError, ConnectOptions, Limits, QueueOptions, Reply, Service, queue, serve_inbox,
};
use std::cell::RefCell;
use std::rc::Rc;

/// Notes all that comes; calls are answered.
#[derive(Default)]
struct Noted(RefCell<Vec<String>>);

impl Noted {
    fn add(&self, what: &str, request: &Bytes) {
        let text = String::from_utf8_lossy(request);
        self.0.borrow_mut().push(format!("{what} {text}"));
    }
}

impl Service<Bytes, Bytes> for Noted {
    fn handle(&self, request: Bytes, reply: Reply<Bytes>) {
        self.add("call", &request);
        reply.send(request);
    }

    fn notice(&self, request: Bytes) {
        self.add("notice", &request);
    }
}

async fn in_order(caller: &EchoCaller, noted: &Noted) {
    caller.notify("1".into()).unwrap();
    let call = caller.call("2".into(), SECOND);
    caller.notify("3".into()).unwrap();
    assert_eq!(call.await, Ok("2".into()));
    assert_eq!(caller.call("4".into(), SECOND).await, Ok("4".into()));
    let expected = ["notice 1", "call 2", "notice 3", "call 4"];
    assert_eq!(*noted.0.borrow(), expected);
    assert_eq!(caller.stats().outstanding, 0);
    assert_eq!(caller.stats().queued_bytes, 0);
}

#[test]
fn notices_come_once_in_the_order_of_calls() {
    local(async {
        let noted = Rc::new(Noted::default());
        let addr = serve(noted.clone(), Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        in_order(&caller, &noted).await;
    });
}

#[test]
fn notices_between_threads_come_once_in_the_order_of_calls() {
    local(async {
        let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
        let noted = Rc::new(Noted::default());
        tokio::task::spawn_local(serve_inbox(inbox, noted.clone()));
        in_order(&address.caller(), &noted).await;
    });
}

#[test]
fn a_service_that_knows_of_no_notices_leaves_them_out() {
    local(async {
        let addr = serve(echo(), Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        caller.notify("nobody wants this".into()).unwrap();
        assert_eq!(caller.call("on".into(), SECOND).await, Ok("on".into()));
        assert_eq!(caller.stats().reconnects, 0);
    });
}

#[test]
fn a_notice_without_a_connection_is_an_error() {
    local(async {
        let options = ConnectOptions::default();
        let caller: EchoCaller = dunlin_rpc::connect(
            std::sync::Arc::new(dunlin_rpc::TcpTransport),
            "127.0.0.1:1",
            Bytes::from_static(b"echo"),
            options,
        );
        assert_eq!(caller.notify("lost".into()), Err(CallError::Disconnected));
    });
}

#[test]
fn notices_that_are_not_taken_are_bounded() {
    local(async {
        let noted = Rc::new(Noted::default());
        let addr = serve(noted.clone(), Limits::default()).await;
        let options = ConnectOptions {
            queue_bytes: 1_000,
            ..ConnectOptions::default()
        };
        let caller = caller(&addr, options).await;
        // Nothing is written before this task waits.
        let notice = Bytes::from(vec![b'n'; 300]);
        let sent: Vec<_> = (0..5).map(|_| caller.notify(notice.clone())).collect();
        let overloaded = Err(CallError::Overloaded);
        assert_eq!(sent[..3], [Ok(()), Ok(()), Ok(())]);
        assert_eq!(sent[3..], [overloaded.clone(), overloaded]);
        assert_eq!(caller.call("on".into(), SECOND).await, Ok("on".into()));
        assert_eq!(noted.0.borrow().len(), 4);
    });
}

#[test]
fn a_queue_counts_its_notices_until_they_are_taken() {
    local(async {
        let options = QueueOptions {
            queue_bytes: 1_000,
            ..QueueOptions::default()
        };
        let (address, inbox) = queue::<Bytes, Bytes>(options);
        let caller = address.caller();
        let notice = Bytes::from(vec![b'n'; 400]);
        assert_eq!(caller.notify(notice.clone()), Ok(()));
        assert_eq!(caller.notify(notice.clone()), Ok(()));
        assert_eq!(caller.notify(notice.clone()), Err(CallError::Overloaded));
        assert_eq!(caller.stats().queued_bytes, 800);
        let noted = Rc::new(Noted::default());
        let serving = tokio::task::spawn_local(serve_inbox(inbox, noted.clone()));
        assert_eq!(caller.call("on".into(), SECOND).await, Ok("on".into()));
        assert_eq!(caller.stats().queued_bytes, 0);
        serving.abort();
        drop(serving.await);
        assert_eq!(caller.notify(notice), Err(CallError::Disconnected));
        assert_eq!(caller.stats().queued_bytes, 0);
    });
}
