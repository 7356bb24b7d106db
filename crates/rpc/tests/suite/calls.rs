//! Calls over real sockets: order, refusals, sizes, handing streams to another thread.

use crate::common::*;
use bytes::{BufMut, Bytes, BytesMut};
use dunlin_message::{DecodeError, Message};
use dunlin_rpc::transport::Transport;
use dunlin_rpc::{
    CallError, Caller, ConnectOptions, Detached, Limits, Reply, Status, TcpTransport, accept,
    connect, refusal, serve_accepted, serve_stream,
};
use dunlin_secret::{Door, Guard};
use futures_util::future::join_all;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

#[test]
fn requests_arrive_in_the_order_of_their_calls_and_answers_find_theirs() {
    local(async {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = seen.clone();
        // Every other answer comes late, so answers overtake each other.
        let service: EchoService = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
            log.borrow_mut().push(request.clone());
            if request.last().unwrap().is_multiple_of(2) {
                return reply.send(request);
            }
            tokio::task::spawn_local(async move {
                tokio::time::sleep(SECOND / 100).await;
                reply.send(request);
            });
        });
        let addr = serve(service, Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let requests: Vec<Bytes> = (0..5000u32)
            .map(|n| Bytes::copy_from_slice(&n.to_be_bytes()))
            .collect();
        let calls: Vec<_> = requests
            .iter()
            .map(|request| caller.call(request.clone(), 10 * SECOND))
            .collect();
        let answers = join_all(calls).await;
        for (request, answer) in requests.iter().zip(answers) {
            assert_eq!(answer.unwrap(), request);
        }
        assert_eq!(*seen.borrow(), requests);
        assert_eq!(caller.stats().outstanding, 0);
        assert!(caller.stats().sent_bytes >= 5000 * 21);
    });
}

#[test]
fn a_call_that_is_not_answered_times_out_and_the_connection_lives_on() {
    local(async {
        let held = Rc::new(RefCell::new(Vec::new()));
        let holder = held.clone();
        let service: EchoService = Rc::new(move |request: Bytes, reply: Reply<Bytes>| {
            if request == "wait" {
                holder.borrow_mut().push(reply)
            } else {
                reply.send(request)
            }
        });
        let addr = serve(service, Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let began = std::time::Instant::now();
        let timed_out = caller.call("wait".into(), SECOND / 20).await;
        assert_eq!(timed_out, Err(CallError::Timeout(SECOND / 20)));
        assert!(began.elapsed() < SECOND);
        assert_eq!(caller.call("go".into(), SECOND).await.unwrap(), "go");
        // The late answer finds nobody, least of all the call that has its slot now.
        held.borrow_mut().pop().unwrap().send("late".into());
        assert_eq!(caller.call("on".into(), SECOND).await.unwrap(), "on");
        assert_eq!(caller.stats().reconnects, 0);
    });
}

#[test]
fn refusals_say_why() {
    local(async {
        let service: EchoService = Rc::new(|request: Bytes, reply: Reply<Bytes>| {
            if request == "no" {
                reply.refuse(7, "not today");
            }
        });
        let addr = serve(service, Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let refused = caller.call("no".into(), SECOND).await.unwrap_err();
        assert_eq!(
            refused,
            CallError::Refused {
                code: 7,
                text: "not today".into()
            }
        );
        let dropped = caller.call("drop".into(), SECOND).await.unwrap_err();
        assert!(matches!(
            dropped,
            CallError::Refused {
                code: refusal::DROPPED,
                ..
            }
        ));
    });
}

/// Encodes as anything, decodes as nothing.
#[derive(Debug)]
struct Broken;

impl Message for Broken {
    fn encode(&self, out: &mut BytesMut) {
        out.put_u8(1);
    }
    fn decode(_: Bytes) -> Result<Self, DecodeError> {
        Err(DecodeError::new("always broken"))
    }
    fn weight(&self) -> usize {
        1
    }
}

#[test]
fn bodies_that_cannot_be_decoded_fail_their_call_only() {
    local(async {
        let addr = serve(echo(), Limits::default()).await;
        let hello = Bytes::from_static(b"echo");
        let caller: Caller<Bytes, Broken> = connect(
            Arc::new(TcpTransport),
            addr,
            hello,
            ConnectOptions::default(),
        );
        caller.connected().await;
        for _ in 0..2 {
            let error = caller.call("x".into(), SECOND).await.unwrap_err();
            assert!(matches!(error, CallError::Protocol(_)), "{error}");
        }

        let mut listener = TcpTransport.listen("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        tokio::task::spawn_local(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let service = Rc::new(|_: Broken, reply: Reply<Bytes>| reply.send(Bytes::new()));
            serve_stream(stream, service, |_| true, Limits::default()).await
        });
        let caller = self::caller(&addr, ConnectOptions::default()).await;
        for _ in 0..2 {
            let error = caller.call("x".into(), SECOND).await.unwrap_err();
            assert!(matches!(
                error,
                CallError::Refused {
                    code: refusal::UNDECODABLE,
                    ..
                }
            ));
        }
        assert_eq!(caller.stats().reconnects, 0);
    });
}

#[test]
fn bodies_of_64_mb_travel_and_larger_than_a_frame_do_not() {
    local(async {
        let addr = serve(echo(), Limits::default()).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let mut body = vec![0u8; 64_000_000];
        for (n, byte) in body.iter_mut().enumerate() {
            *byte = ((n * 31) >> 7) as u8;
        }
        let body = Bytes::from(body);
        let (large, small) = tokio::join!(
            caller.call(body.clone(), 30 * SECOND),
            // Behind the large one, so it does not fit the queue of 16 MiB.
            caller.call("small".into(), 30 * SECOND),
        );
        assert!(large.unwrap() == body);
        assert_eq!(small, Err(CallError::Overloaded));
        let too_large = caller.call(Bytes::from(vec![0; 81 << 20]), SECOND).await;
        assert!(matches!(too_large, Err(CallError::TooLarge { .. })));
        assert_eq!(caller.call("small".into(), SECOND).await.unwrap(), "small");
    });
}

#[test]
fn a_response_over_the_limit_is_a_refusal() {
    local(async {
        let service: EchoService = Rc::new(|_: Bytes, reply: Reply<Bytes>| {
            reply.send(Bytes::from(vec![0; 2000]));
        });
        let limits = Limits {
            frame_bytes_max: 1000,
            ..Limits::default()
        };
        let addr = serve(service, limits).await;
        let caller = caller(&addr, ConnectOptions::default()).await;
        let error = caller.call("x".into(), SECOND).await.unwrap_err();
        assert!(matches!(
            error,
            CallError::Refused {
                code: refusal::TOO_LARGE,
                ..
            }
        ));
    });
}

#[test]
fn a_hello_for_something_else_is_turned_away() {
    local(async {
        let addr = serve(echo(), Limits::default()).await;
        let other: EchoCaller = connect(
            Arc::new(TcpTransport),
            addr,
            Bytes::from_static(b"other"),
            ConnectOptions::default(),
        );
        assert!(
            tokio::time::timeout(SECOND / 5, other.connected())
                .await
                .is_err()
        );
        assert_eq!(
            other.call("x".into(), SECOND).await,
            Err(CallError::Disconnected)
        );
    });
}

#[test]
fn a_unix_socket_serves_as_well_and_its_file_may_be_left_over() {
    local(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let addr = format!("unix:{}", path.display());
        assert_eq!(serve_at(&addr, echo(), Limits::default()).await, addr);
        let in_use = TcpTransport.listen(&addr).await;
        assert_eq!(in_use.err().unwrap().kind(), std::io::ErrorKind::AddrInUse);
        let caller = caller(&addr, ConnectOptions::default()).await;
        assert_eq!(caller.call("hi".into(), SECOND).await.unwrap(), "hi");
    });
}

#[test]
fn one_thread_accepts_and_another_serves() {
    let (to_shard, mut streams) = tokio::sync::mpsc::unbounded_channel::<Detached>();
    let shard = std::thread::spawn(move || {
        local(async move {
            while let Some(stream) = streams.recv().await {
                let stream = stream.attach().unwrap();
                tokio::task::spawn_local(async move {
                    serve_accepted(stream, b"", echo(), Limits::default()).await
                });
            }
        });
    });
    local(async {
        let listener = TcpTransport.listen("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let accepting = tokio::task::spawn_local(accept::run(
            listener,
            SECOND,
            Guard::off(Door::Peer),
            move |hello, stream| {
                if hello.body == "echo" {
                    to_shard.send(stream.detach().unwrap()).unwrap();
                } else {
                    tokio::task::spawn_local(async move {
                        accept::refuse(stream, Status::NotServed, b"").await
                    });
                }
            },
        ));
        // One that says nothing does not keep others out.
        let _silent = tokio::net::TcpStream::connect(&addr).await.unwrap();
        let caller = caller(&addr, ConnectOptions::default()).await;
        for n in 0..100u32 {
            let request = Bytes::copy_from_slice(&n.to_le_bytes());
            assert_eq!(caller.call(request.clone(), SECOND).await.unwrap(), request);
        }
        accepting.abort();
    });
    shard.join().unwrap();
}
