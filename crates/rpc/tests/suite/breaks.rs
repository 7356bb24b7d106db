//! Connections that break, fall silent, fill up or are damaged.

use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{
    CallError, ConnectOptions, Limits, Plain, Reply, ServeError, TcpTransport, connect,
    serve_stream,
};
use futures_util::FutureExt;
use futures_util::future::join_all;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep};

/// What accepts a hello: magic, protocol, status 0, nothing said, checksum.
fn accepted() -> Vec<u8> {
    let mut answer = b"DNLN\x07\0\0\0\0\0".to_vec();
    answer.extend(crc32c::crc32c(&answer).to_le_bytes());
    answer
}

#[test]
fn a_break_fails_what_is_outstanding_and_the_caller_comes_back_by_itself() {
    local(async {
        let service: EchoService = Rc::new(|request: Bytes, reply: Reply<Bytes>| {
            if request == "hold" {
                tokio::task::spawn_local(async move {
                    sleep(60 * SECOND).await;
                    drop(reply);
                });
            } else {
                reply.send(request);
            }
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let again = service.clone();
        let first = tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve_stream(Box::new(stream), again, |_| true, Limits::default()).await
        });
        let caller = caller(&addr, ConnectOptions::default()).await;
        assert_eq!(caller.call("a".into(), SECOND).await.unwrap(), "a");
        let held: Vec<_> = (0..10)
            .map(|_| caller.call("hold".into(), 60 * SECOND))
            .collect();
        sleep(SECOND / 20).await;
        first.abort();
        for broken in join_all(held).await {
            assert_eq!(broken, Err(CallError::Disconnected));
        }
        assert!(!caller.is_connected());
        assert_eq!(
            caller.call("b".into(), SECOND).await,
            Err(CallError::Disconnected)
        );

        serve_at(&addr, service, Limits::default()).await;
        caller.connected().await;
        assert_eq!(caller.call("c".into(), SECOND).await.unwrap(), "c");
        assert_eq!(caller.stats().reconnects, 1);
    });
}

#[test]
fn a_caller_made_before_its_peer_connects_when_the_peer_is_there() {
    local(async {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let addr = port.local_addr().unwrap().to_string();
        drop(port);
        let hello = Bytes::from_static(b"echo");
        let caller: EchoCaller = connect(
            Arc::new(TcpTransport),
            addr.clone(),
            hello,
            ConnectOptions::default(),
        );
        assert_eq!(
            caller.call("a".into(), SECOND).await,
            Err(CallError::Disconnected)
        );
        sleep(SECOND / 10).await;
        serve_at(&addr, echo(), Limits::default()).await;
        caller.connected().await;
        assert_eq!(caller.call("b".into(), SECOND).await.unwrap(), "b");
    });
}

#[test]
fn dropping_the_last_caller_closes_the_connection() {
    local(async {
        let (pipes, mut far_ends) = Pipes::new(None);
        let caller: EchoCaller = connect(
            pipes,
            "x",
            Bytes::from_static(b"echo"),
            ConnectOptions::default(),
        );
        let far = far_ends.recv().await.unwrap();
        let serving = tokio::task::spawn_local(serve_stream(
            Box::new(Plain(far)),
            echo(),
            |_| true,
            Limits::default(),
        ));
        caller.connected().await;
        let call = caller.clone().call("last".into(), SECOND);
        drop(caller);
        assert_eq!(
            call.await.unwrap(),
            "last",
            "an unfinished call keeps the connection"
        );
        assert!(matches!(serving.await.unwrap(), ServeError::Closed));
        assert!(far_ends.recv().await.is_none(), "nothing reconnects");
    });
}

#[test]
fn a_silent_peer_is_given_up_and_a_quiet_one_is_not() {
    paused(async {
        let (pipes, mut far_ends) = Pipes::new(None);
        let caller: EchoCaller = connect(
            pipes,
            "x",
            Bytes::from_static(b"echo"),
            ConnectOptions::default(),
        );
        let mut silent = far_ends.recv().await.unwrap();
        silent.write_all(&accepted()).await.unwrap();
        caller.connected().await;
        let began = Instant::now();
        let call = caller.call("x".into(), 60 * SECOND).await;
        assert_eq!(call, Err(CallError::Disconnected));
        assert!(began.elapsed() >= 3 * SECOND && began.elapsed() < 4 * SECOND);

        let quiet = far_ends.recv().await.unwrap();
        tokio::task::spawn_local(serve_stream(
            Box::new(Plain(quiet)),
            echo(),
            |_| true,
            Limits::default(),
        ));
        caller.connected().await;
        let reconnects = caller.stats().reconnects;
        sleep(600 * SECOND).await;
        assert_eq!(caller.call("y".into(), SECOND).await.unwrap(), "y");
        assert_eq!(caller.stats().reconnects, reconnects);
    });
}

#[test]
fn the_serving_side_gives_a_silent_peer_up_too() {
    paused(async {
        let (mut near, far) = tokio::io::duplex(1 << 16);
        let mut hello = b"DNLN\x07\0\0\0".to_vec();
        hello.extend(crc32c::crc32c(&hello).to_le_bytes());
        near.write_all(&hello).await.unwrap();
        let end = serve_stream(Box::new(Plain(far)), echo(), |_| true, Limits::default()).await;
        assert!(matches!(end, ServeError::Silent(_)), "{end}");
    });
}

#[test]
fn a_peer_that_does_not_read_overloads_its_callers_and_nothing_grows() {
    paused(async {
        let (pipes, mut far_ends) = Pipes::new(None);
        let options = ConnectOptions {
            queue_bytes: 1 << 20,
            ..ConnectOptions::default()
        };
        let caller: EchoCaller = connect(pipes, "x", Bytes::from_static(b"echo"), options);
        let mut far = far_ends.recv().await.unwrap();
        far.write_all(&accepted()).await.unwrap();
        caller.connected().await;
        let body = Bytes::from(vec![0; 10_000]);
        let mut calls = Vec::new();
        let mut overloaded = 0;
        for n in 0..1000 {
            let mut call = caller.call(body.clone(), 2 * SECOND);
            match (&mut call).now_or_never() {
                None => calls.push(call),
                Some(failed) => {
                    assert_eq!(failed, Err(CallError::Overloaded));
                    overloaded += 1;
                }
            }
            assert!(caller.stats().queued_bytes <= 1 << 20);
            if n % 10 == 0 {
                tokio::task::yield_now().await;
            }
        }
        assert!(overloaded > 800, "{overloaded}");
        // It is still a connection: once the peer reads, there is room again.
        let mut sink = vec![0; 1 << 20];
        while caller.stats().queued_bytes > 0 {
            assert!(far.read(&mut sink).await.unwrap() > 0);
            tokio::task::yield_now().await;
        }
        assert!(caller.call(body.clone(), SECOND).now_or_never().is_none());
    });
}

#[test]
fn outstanding_calls_are_bounded_even_when_bytes_are_not() {
    paused(async {
        let (pipes, mut far_ends) = Pipes::new(None);
        let options = ConnectOptions {
            outstanding_max: 3,
            ..ConnectOptions::default()
        };
        let caller: EchoCaller = connect(pipes, "x", Bytes::from_static(b"echo"), options);
        let mut far = far_ends.recv().await.unwrap();
        far.write_all(&accepted()).await.unwrap();
        caller.connected().await;
        let _waiting: Vec<_> = (0..3).map(|_| caller.call("a".into(), SECOND)).collect();
        assert_eq!(
            caller.call("b".into(), SECOND).await,
            Err(CallError::Overloaded)
        );
    });
}

#[test]
fn a_server_reads_no_more_than_it_may_hold_and_goes_on_when_it_has_answered() {
    paused(async {
        let (pipes, mut far_ends) = Pipes::new(None);
        let caller: EchoCaller = connect(
            pipes,
            "x",
            Bytes::from_static(b"echo"),
            ConnectOptions::default(),
        );
        let far = far_ends.recv().await.unwrap();
        let held = Rc::new(std::cell::RefCell::new(Vec::new()));
        let holder = held.clone();
        let service: EchoService = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
            holder.borrow_mut().push((request, reply));
        });
        let limits = Limits {
            calls: 10,
            ..Limits::default()
        };
        tokio::task::spawn_local(serve_stream(
            Box::new(Plain(far)),
            service,
            |_| true,
            limits,
        ));
        caller.connected().await;
        let calls: Vec<_> = (0..95u8)
            .map(|n| caller.call(Bytes::copy_from_slice(&[n]), 60 * SECOND))
            .collect();
        let answering = async {
            let mut answered = 0;
            while answered < 95 {
                // Longer than a silent peer would be borne: a reader that pauses still pings.
                sleep(5 * SECOND).await;
                let batch = std::mem::take(&mut *held.borrow_mut());
                assert!(batch.len() <= 10);
                answered += batch.len();
                for (request, reply) in batch {
                    reply.send(request);
                }
            }
        };
        let (answers, ()) = tokio::join!(join_all(calls), answering);
        for (n, answer) in answers.into_iter().enumerate() {
            assert_eq!(answer.unwrap()[..], [n as u8]);
        }
        assert_eq!(caller.stats().reconnects, 0);
    });
}

/// A small exchange over a stream with one damaged byte: every answer is right or an error, and
/// in the end the caller works again.
fn exchange_with_damage(incoming: bool, at: i64, bit: u8) {
    paused(async {
        let flip = Flip {
            incoming,
            bit,
            countdown: AtomicI64::new(at),
        };
        let (pipes, mut far_ends) = Pipes::new(Some(Arc::new(flip)));
        tokio::task::spawn_local(async move {
            while let Some(far) = far_ends.recv().await {
                let far = Box::new(Plain(far));
                let accept = |hello: &[u8]| hello == b"echo";
                tokio::task::spawn_local(serve_stream(far, echo(), accept, Limits::default()));
            }
        });
        let caller: EchoCaller = connect(
            pipes,
            "x",
            Bytes::from_static(b"echo"),
            ConnectOptions::default(),
        );
        caller.connected().await;
        let requests = ["first", "second", "third"];
        let calls = requests.map(|request| caller.call(request.into(), 5 * SECOND));
        for (request, answer) in requests.iter().zip(join_all(calls).await) {
            if let Ok(answer) = answer {
                assert_eq!(
                    answer, request,
                    "damage at {at} bit {bit} incoming {incoming}"
                );
            }
        }
        let began = Instant::now();
        while caller.call("again".into(), SECOND).await != Ok("again".into()) {
            assert!(
                began.elapsed() < 60 * SECOND,
                "wedged by damage at {at} bit {bit}"
            );
            sleep(SECOND / 10).await;
        }
    });
}

#[test]
fn a_damaged_byte_is_never_a_wrong_answer() {
    for at in 0..90 {
        for bit in [0, 3, 7] {
            exchange_with_damage(true, at, bit);
            exchange_with_damage(false, at, bit);
        }
    }
}
