//! Streams over every way there is, and peers that do not keep to what was agreed.

use crate::common::frames::{encoded, frame, sealed};
use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{
    CallError, ConnectOptions, Items, Limits, QUANTUM_BYTES, QueueOptions, Reply, Service, Sink,
    SinkError, WINDOW_BYTES_MIN, queue, refusal, serve_inbox, serve_stream,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

const MS: Duration = Duration::from_millis(1);

/// Answers calls at once, and `COUNT SIZE` with so many items of that size; counts what has gone.
#[derive(Default)]
struct Source {
    sent: Cell<usize>,
    ended: RefCell<Vec<Bytes>>,
}

struct Held(Rc<Source>, Bytes);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.ended.borrow_mut().push(self.1.clone());
    }
}

struct Sources(Rc<Source>);

fn item(n: usize, size: usize) -> Bytes {
    (0..size).map(|at| (at / 5 + n) as u8).collect()
}

impl Service<Bytes, Bytes> for Sources {
    fn handle(&self, request: Bytes, reply: Reply<Bytes>) {
        reply.send(request);
    }

    fn open(&self, request: Bytes, mut sink: Sink<Bytes>) {
        match &request[..] {
            b"refuse" => return sink.refuse(7, "not today"),
            b"drop" => return drop(sink),
            b"large" => {
                return sink.work(|mut sink| async move {
                    let large = sink.send(item(0, 2_000)).await;
                    assert!(matches!(
                        large,
                        Err(SinkError::TooLarge { bytes: 2_000, .. })
                    ));
                    sink.send(item(0, 3)).await.unwrap();
                    sink.end();
                });
            }
            b"late" => {
                tokio::task::spawn_local(async move {
                    sink.send(item(0, 3)).await.unwrap();
                    sink.refuse(8, "no more");
                });
                return;
            }
            _ => {}
        }
        let text = std::str::from_utf8(&request).unwrap();
        let (count, size) = text.split_once(' ').unwrap();
        let (count, size): (usize, usize) = (count.parse().unwrap(), size.parse().unwrap());
        let source = self.0.clone();
        sink.work(move |mut sink| async move {
            let held = Held(source, request);
            for n in 0..count {
                sink.send(item(n, size)).await.unwrap();
                held.0.sent.set(held.0.sent.get() + 1);
            }
            sink.end();
        });
    }
}

/// Over TCP, a Unix socket and a queue.
async fn callers(limits: Limits) -> Vec<(EchoCaller, Rc<Source>)> {
    let folder = tempfile::tempdir().unwrap();
    let path = format!("unix:{}", folder.path().join("s").display());
    let mut callers = Vec::new();
    for addr in ["127.0.0.1:0", &path] {
        let source = Rc::new(Source::default());
        let service = Rc::new(Sources(source.clone()));
        let addr = serve_at(addr, service, limits.clone()).await;
        callers.push((caller(&addr, ConnectOptions::default()).await, source));
    }
    let source = Rc::new(Source::default());
    let (address, inbox) = queue::<Bytes, Bytes>(QueueOptions::default());
    tokio::task::spawn_local(serve_inbox(inbox, Rc::new(Sources(source.clone()))));
    callers.push((address.caller(), source));
    callers
}

async fn is_so(what: impl Fn() -> bool) {
    let seen = async {
        while !what() {
            sleep(MS).await;
        }
    };
    timeout(10 * SECOND, seen).await.unwrap();
}

/// Reads to the end: how many items, all as they were sent, and why it ended.
async fn drain(items: &mut Items<Bytes>, size: usize) -> (usize, Option<CallError>) {
    let mut count = 0;
    loop {
        match items.next().await {
            None => return (count, None),
            Some(Err(error)) => return (count, Some(error)),
            Some(Ok(read)) => assert!(read == item(count, size), "item {count}"),
        }
        count += 1;
    }
}

#[test]
fn items_come_whole_in_order_and_once() {
    local(async {
        for (caller, _) in callers(Limits::default()).await {
            for window in [0, 10_000, 1 << 20] {
                for (count, size) in [
                    (0, 0),
                    (3, 0),
                    (500, 1),
                    (300, 700),
                    (20, 40_000),
                    (2, 3 << 20),
                ] {
                    let request = Bytes::from(format!("{count} {size}"));
                    let mut items = caller.stream(request, window);
                    assert_eq!(drain(&mut items, size).await, (count, None));
                    assert!(items.next().await.is_none());
                }
            }
            assert_eq!(caller.call("on".into(), SECOND).await.unwrap(), "on");
            assert_eq!(caller.stats().reconnects, 0);
        }
    });
}

#[test]
fn who_does_not_read_is_sent_a_window_and_keeps_nobody() {
    local(async {
        for (caller, source) in callers(Limits::default()).await {
            let mut unread = caller.stream("1000 1000".into(), 20_000);
            is_so(|| source.sent.get() >= 15).await;
            for _ in 0..20 {
                let call = caller.call("on".into(), SECOND).await;
                assert_eq!(call.unwrap(), "on");
            }
            assert!(source.sent.get() <= 20, "{}", source.sent.get());
            let mut other = caller.stream("50 100000".into(), 1 << 20);
            assert_eq!(drain(&mut other, 100_000).await, (50, None));
            assert!(source.sent.get() <= 70);
            assert_eq!(drain(&mut unread, 1_000).await, (1_000, None));
        }
    });
}

#[test]
fn work_for_a_stream_ends_with_its_reader() {
    local(async {
        for (caller, source) in callers(Limits::default()).await {
            let mut one = caller.stream("1000000 1000".into(), 20_000);
            let two = caller.stream("1000000 2000".into(), 20_000);
            assert_eq!(one.next().await.unwrap().unwrap(), item(0, 1_000));
            drop(two);
            is_so(|| !source.ended.borrow().is_empty()).await;
            assert_eq!(*source.ended.borrow(), ["1000000 2000"]);
            for n in 1..100 {
                assert_eq!(one.next().await.unwrap().unwrap(), item(n, 1_000));
            }
            drop((one, caller));
            is_so(|| source.ended.borrow().len() == 2).await;
        }
    });
}

#[test]
fn who_wants_no_more_has_what_came_and_the_end() {
    local(async {
        for (caller, source) in callers(Limits::default()).await {
            for (window, size) in [(20_000, 1_000), (100_000, 70_000), (0, 1), (0, 20_000)] {
                let request = Bytes::from(format!("1000000 {size}"));
                let mut items = caller.stream(request, window);
                for n in 0..3 {
                    assert_eq!(items.next().await.unwrap().unwrap(), item(n, size));
                }
                let ended = source.ended.borrow().len();
                items.finish();
                let mut count = 3;
                while let Some(read) = items.next().await {
                    assert!(read.unwrap() == item(count, size), "item {count}");
                    count += 1;
                }
                // Before the writer hears of it a half may be granted.
                let most = 2 * window.max(WINDOW_BYTES_MIN);
                assert!((count - 3) * size <= most, "{count}");
                is_so(|| source.ended.borrow().len() > ended).await;
                items.finish();
                assert!(items.next().await.is_none());
            }
            // The connection goes on.
            let mut other = caller.stream("3 5".into(), 0);
            assert_eq!(drain(&mut other, 5).await, (3, None));
            assert_eq!(caller.stats().reconnects, 0);
        }
    });
}

#[test]
fn streams_end_as_their_writers_say() {
    local(async {
        for (caller, _) in callers(Limits::default()).await {
            for (request, count, code) in [
                ("refuse", 0, 7),
                ("drop", 0, refusal::DROPPED),
                ("late", 1, 8),
            ] {
                let mut items = caller.stream(request.into(), 0);
                let (read, ended) = drain(&mut items, 3).await;
                let is_refused =
                    matches!(ended, Some(CallError::Refused { code: c, .. }) if c == code);
                assert!(read == count && is_refused, "{request}");
                assert!(items.next().await.is_none());
            }
        }
        let limits = Limits {
            frame_bytes_max: 1_000,
            ..Limits::default()
        };
        let (caller, _) = callers(limits).await.remove(0);
        let mut items = caller.stream("large".into(), 0);
        let first = items.next().await.unwrap().unwrap();
        assert_eq!((first, items.next().await.is_none()), (item(0, 3), true));
    });
}

#[test]
fn who_knows_no_streams_says_so() {
    local(async {
        let addr = serve(echo(), Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let refused = caller.stream("x".into(), 0).next().await.unwrap();
        let code = |refused| match refused {
            Err(CallError::Refused { code, .. }) => code,
            other => panic!("{other:?}"),
        };
        assert_eq!(code(refused), refusal::NO_STREAM);
        assert_eq!(caller.call("on".into(), SECOND).await.unwrap(), "on");
    });
}

#[test]
fn a_peer_has_so_many_streams_and_no_more() {
    local(async {
        let limits = Limits {
            streams: 3,
            ..Limits::default()
        };
        let (caller, source) = callers(limits).await.remove(0);
        let mut held: Vec<_> = (0..3)
            .map(|_| caller.stream("1000000 1000".into(), 0))
            .collect();
        let refused = caller.stream("1 1".into(), 0).next().await.unwrap();
        let too_many = refusal::TOO_MANY_STREAMS;
        assert!(matches!(refused, Err(CallError::Refused { code, .. }) if code == too_many));
        drop(held.pop());
        is_so(|| source.ended.borrow().len() == 1).await;
        assert_eq!(
            drain(&mut caller.stream("1 1".into(), 0), 1).await,
            (1, None)
        );
        for items in &mut held {
            assert_eq!(items.next().await.unwrap().unwrap(), item(0, 1_000));
        }
    });
}

fn opening(credit: u32, request: &str) -> Vec<u8> {
    [&credit.to_le_bytes(), request.as_bytes()].concat()
}

/// Answers hellos, and the first stream that is opened with `answer`; then says whether
/// the connection was ended.
async fn writer(answer: Vec<Vec<u8>>) -> (String, tokio::task::JoinHandle<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let ended = tokio::task::spawn_local(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 8 + 4 + 4];
        stream.read_exact(&mut hello).await.unwrap();
        let said = sealed(b"DNLN\x07\0\0\0\0\0");
        stream.write_all(&said).await.unwrap();
        while let Some((kind, stream_number, _)) = frame(&mut stream).await {
            if kind != 7 {
                continue;
            }
            assert_eq!(stream_number, 1);
            for frame in &answer {
                stream.write_all(frame).await.unwrap();
            }
        }
        true
    });
    (addr, ended)
}

#[test]
fn a_writer_that_goes_beyond_what_was_granted_loses_its_connection() {
    local(async {
        let part = |stream, bytes| encoded(8, stream, &vec![1; 1 + bytes]);
        let end = || encoded(10, 1, b"");
        for (what, answer) in [
            ("too much at once", vec![part(1, WINDOW_BYTES_MIN)]),
            ("too much in all", vec![part(1, 2_100), part(1, 2_100)]),
            (
                "many that are empty",
                vec![part(1, 0); WINDOW_BYTES_MIN / 32 + 1],
            ),
            ("another stream", vec![part(2, 1)]),
            ("another's end", vec![encoded(10, 9, b"")]),
            ("more behind the end", vec![end(), part(1, 1)]),
            ("two ends", vec![end(), end()]),
            ("no part", vec![encoded(8, 1, b"")]),
        ] {
            let (addr, ended) = writer(answer).await;
            let caller = caller(&addr, ConnectOptions::default()).await;
            let items = caller.stream("x".into(), 0);
            let ended = timeout(2 * SECOND, ended).await;
            assert!(ended.unwrap().unwrap(), "{what}");
            drop(items);
        }
    });
}

#[test]
fn a_broken_connection_ends_its_streams() {
    local(async {
        let (addr, ended) = writer(vec![encoded(8, 1, &[1, 7])]).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let mut items = caller.stream("x".into(), 0);
        assert_eq!(items.next().await.unwrap().unwrap(), [7][..]);
        ended.abort();
        let broken = items.next().await.unwrap();
        assert_eq!(broken, Err(CallError::Disconnected));
        assert!(items.next().await.is_none());
        let down = caller.stream("x".into(), 0).next().await.unwrap();
        assert_eq!(down, Err(CallError::Disconnected));
    });
}

#[test]
fn a_reader_that_does_not_keep_to_what_was_agreed_loses_its_connection() {
    local(async {
        let service = Rc::new(Sources(Rc::default()));
        let addr = serve(service, Limits::default()).await;
        let open = |stream| encoded(7, stream, &opening(4_096, "9 9"));
        let credit = |stream, bytes: u32| encoded(9, stream, &bytes.to_le_bytes());
        for (what, said) in [
            ("credit for nothing", vec![credit(1, 1)]),
            ("a stop of nothing", vec![encoded(11, 1, b"")]),
            ("one stream twice", vec![open(3), open(3)]),
            ("numbers downwards", vec![open(3), open(2)]),
            (
                "too much credit",
                vec![credit(1, 0), open(1), credit(1, u32::MAX)],
            ),
            ("half a credit", vec![open(1), encoded(9, 1, b"abc")]),
            ("no credit", vec![encoded(7, 1, b"abc")]),
            ("items this way", vec![open(1), encoded(8, 1, b"abc")]),
        ] {
            let mut stream = TcpStream::connect(&addr).await.unwrap();
            let hello = sealed(b"DNLN\x07\0\x04\0echo");
            stream.write_all(&hello).await.unwrap();
            for frame in said {
                stream.write_all(&frame).await.unwrap();
            }
            let mut rest = Vec::new();
            let ended = timeout(2 * SECOND, stream.read_to_end(&mut rest)).await;
            assert!(ended.is_ok(), "{what}");
        }
    });
}

/// A call that comes while a stream has much to send waits for what is being written, and no more.
#[test]
fn a_call_waits_for_a_quantum_at_most() {
    local(async {
        let (mut near, far) = tokio::io::duplex(1_024);
        let service = Rc::new(Sources(Rc::default()));
        let far = Box::new(dunlin_rpc::Plain(far));
        tokio::task::spawn_local(serve_stream(far, service, |_| true, Limits::default()));
        near.write_all(&sealed(b"DNLN\x07\0\0\0")).await.unwrap();
        let mut answer = [0; 14];
        near.read_exact(&mut answer).await.unwrap();
        for stream in 1..=5 {
            let open = encoded(7, stream, &opening(1 << 30, "3 8000000"));
            near.write_all(&open).await.unwrap();
        }
        for n in 0..50 {
            let (kind, _, body) = frame(&mut near).await.unwrap();
            assert!(kind == 8 && body.len() <= QUANTUM_BYTES + 1);
            near.write_all(&encoded(0, n, b"\x10\x27\0\0on"))
                .await
                .unwrap();
            let mut waited = 0;
            while let Some((kind, _, body)) = frame(&mut near).await {
                if kind == 1 {
                    break;
                }
                waited += body.len();
            }
            // The part that is being written, and the one that was behind it in the pipe.
            assert!(waited <= 2 * QUANTUM_BYTES, "{waited}");
        }
    });
}
