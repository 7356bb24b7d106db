//! Calls that nobody waits for any more.

use crate::common::frames::{encoded, frame, sealed};
use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{CallError, ConnectOptions, Limits, QueueOptions, Reply, queue, serve_inbox};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

const MS: Duration = Duration::from_millis(1);

/// What became of the work for each call.
#[derive(Default)]
struct Works {
    begun: RefCell<Vec<Bytes>>,
    ended: RefCell<Vec<Bytes>>,
}

/// Says when the work that holds it is dropped.
struct Held(Rc<Works>, Bytes);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.ended.borrow_mut().push(self.1.clone());
    }
}

/// Works for ever where it is asked to `hold`, else answers at once.
fn working() -> (EchoService, Rc<Works>) {
    let works = Rc::new(Works::default());
    let noted = works.clone();
    let service = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
        noted.begun.borrow_mut().push(request.clone());
        if !request.starts_with(b"hold") {
            return reply.send(request);
        }
        let held = Held(noted.clone(), request);
        reply.work(async move {
            std::future::pending::<()>().await;
            drop(held);
            Ok(Bytes::new())
        });
    });
    (service, works)
}

async fn is_so(what: impl Fn() -> bool) {
    let seen = async {
        while !what() {
            sleep(MS).await;
        }
    };
    timeout(10 * SECOND, seen).await.unwrap();
}

/// Over TCP, a Unix socket and a queue.
async fn callers(service: &EchoService) -> Vec<EchoCaller> {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("unix:{}", folder.path().join("s").display());
    let mut callers = Vec::new();
    for addr in ["127.0.0.1:0", &path] {
        let addr = serve_at(addr, service.clone(), Limits::default()).await;
        callers.push(caller(&addr, ConnectOptions::default()).await);
    }
    let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
    tokio::task::spawn_local(serve_inbox(inbox, service.clone()));
    callers.push(address.caller());
    callers
}

#[test]
fn work_ends_with_the_call_that_is_dropped_and_no_other() {
    local(async {
        let (service, works) = working();
        for caller in callers(&service).await {
            let one = caller.call("hold 1".into(), 60 * SECOND);
            let two = caller.call("hold 2".into(), 60 * SECOND);
            is_so(|| works.begun.borrow().len() == 2).await;
            drop(one);
            is_so(|| works.ended.borrow().len() == 1).await;
            assert_eq!(*works.ended.borrow(), ["hold 1"]);
            assert_eq!(caller.call("go".into(), SECOND).await.unwrap(), "go");
            drop(two);
            is_so(|| works.ended.borrow().len() == 2).await;
            let stats = caller.stats();
            assert_eq!((stats.outstanding, stats.queued_bytes), (0, 0));
            works.begun.take();
            works.ended.take();
        }
    });
}

#[test]
fn work_ends_when_the_time_for_it_is_over() {
    local(async {
        let (service, works) = working();
        for caller in callers(&service).await {
            let begun = Instant::now();
            let timed_out = caller.call("hold".into(), 50 * MS).await;
            assert_eq!(timed_out, Err(CallError::Timeout(50 * MS)));
            is_so(|| works.ended.borrow().len() == 1).await;
            assert!(begun.elapsed() < 5 * SECOND);
            assert_eq!(caller.call("go".into(), SECOND).await.unwrap(), "go");
            assert_eq!(caller.stats().reconnects, 0);
            works.ended.take();
        }
    });
}

#[test]
fn work_ends_with_its_connection() {
    local(async {
        let (service, works) = working();
        for caller in callers(&service).await {
            let call = caller.call("hold".into(), 60 * SECOND);
            is_so(|| !works.begun.borrow().is_empty()).await;
            drop((caller, call));
            is_so(|| works.ended.borrow().len() == 1).await;
            works.begun.take();
            works.ended.take();
        }
    });
}

/// Requests that wait while a connection is not read, and whose time is over by then.
#[test]
fn what_comes_too_late_is_not_begun() {
    local(async {
        let (service, works) = working();
        let limits = Limits {
            calls: 1,
            ..Limits::default()
        };
        let addr = serve(service, limits).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let first = caller.call("hold".into(), SECOND / 5);
        let late = caller.call("late".into(), 50 * MS);
        let patient = caller.call("patient".into(), 60 * SECOND);
        assert!(first.await.is_err() && late.await.is_err());
        assert_eq!(patient.await.unwrap(), "patient");
        assert_eq!(*works.begun.borrow(), ["hold", "patient"]);
        assert_eq!(caller.call("on".into(), SECOND).await.unwrap(), "on");
    });
}

/// Opens a connection, up to the answer's end.
async fn opened(addr: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let hello = sealed(b"DNLN\x07\0\x04\0echo");
    stream.write_all(&hello).await.unwrap();
    let mut answer = [0; 8 + 2 + 4];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[4..8], [7, 0, 0, 0]);
    stream
}

#[test]
fn frames_that_are_not_known_or_say_no_time_end_the_connection() {
    local(async {
        let (service, works) = working();
        let addr = serve(service, Limits::default()).await;
        for (kind, body) in [(0, &b"\x10\x27\0"[..]), (13, b""), (12, b"")] {
            let mut stream = opened(&addr).await;
            stream.write_all(&encoded(kind, 7, body)).await.unwrap();
            let ended = timeout(SECOND, stream.read_u8()).await.unwrap();
            assert!(ended.is_err(), "{kind}");
        }
        assert!(works.begun.borrow().is_empty());
        let mut stream = opened(&addr).await;
        let request = encoded(0, 7, b"\x10\x27\0\0go");
        let unknown_call = encoded(6, 9, b"");
        stream.write_all(&unknown_call).await.unwrap();
        stream.write_all(&request).await.unwrap();
        assert_eq!(frame(&mut stream).await, Some((1, 7, "go".into())));
    });
}
