//! Who shares a secret is served, and nobody else: over real sockets, with any bytes.

use crate::common::{SECOND, echo, local};
use bytes::Bytes;
use dunlin_rpc::accept::OPENING_MAX;
use dunlin_rpc::{
    Caller, ConnectOptions, Limits, TcpTransport, Transport, accept, connect, serve_accepted,
};
use dunlin_secret::{Door, Guard, Mode, Outcome, Refusal, Secrets, SystemNonces};
use proptest::prelude::*;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

const OURS: &str = "the secret of our cluster";
const THEIRS: &str = "the secret of another cluster";

fn guard(mode: Mode, secret: &str) -> Arc<Guard> {
    let secrets = Secrets::parse(secret.as_bytes()).unwrap();
    Guard::new(Door::Peer, mode, secrets, Box::<SystemNonces>::default())
}

/// Serves behind a guard; gives the address and how many hellos came through.
async fn serve(guard: Arc<Guard>) -> (String, Rc<Cell<u32>>) {
    serve_within(SECOND, guard).await
}

/// The same; who says nothing is given up after `limit`.
async fn serve_within(limit: Duration, guard: Arc<Guard>) -> (String, Rc<Cell<u32>>) {
    let listener = TcpTransport.listen("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let hellos = Rc::new(Cell::new(0));
    let counted = hellos.clone();
    let running = accept::run(listener, limit, guard, move |_, stream| {
        counted.set(counted.get() + 1);
        tokio::task::spawn_local(async move {
            serve_accepted(stream, b"", echo(), Limits::default()).await
        });
    });
    tokio::task::spawn_local(running);
    (addr, hellos)
}

fn caller(addr: &str, guard: Arc<Guard>) -> Caller<Bytes, Bytes> {
    let options = ConnectOptions {
        guard,
        ..ConnectOptions::default()
    };
    connect(Arc::new(TcpTransport), addr, Bytes::from("hello"), options)
}

async fn distrust(caller: &Caller<Bytes, Bytes>) -> Refusal {
    let end = Instant::now() + SECOND;
    loop {
        if let Some(refusal) = caller.distrust() {
            return refusal;
        }
        assert!(Instant::now() < end, "nothing is refused");
        sleep(Duration::from_millis(5)).await;
    }
}

#[test]
fn both_sides_say_why_they_are_not_connected() {
    use Mode::{Off, Offered, Required};
    let off = || Guard::off(Door::Peer);
    let cases = [
        (
            off(),
            guard(Required, OURS),
            Refusal::Asked,
            Outcome::Unproven,
        ),
        (
            guard(Required, OURS),
            off(),
            Refusal::NoSecret,
            Outcome::Unproven,
        ),
        (
            guard(Required, THEIRS),
            guard(Required, OURS),
            Refusal::Wrong,
            Outcome::Wrong,
        ),
        (
            guard(Required, THEIRS),
            guard(Offered, OURS),
            Refusal::Wrong,
            Outcome::Wrong,
        ),
        (
            guard(Offered, THEIRS),
            guard(Required, OURS),
            Refusal::Asked,
            Outcome::Wrong,
        ),
    ];
    assert_eq!(off().mode(), Off);
    for (opener, acceptor, expected, outcome) in cases {
        local(async {
            let (addr, hellos) = serve(acceptor.clone()).await;
            let caller = caller(&addr, opener.clone());
            assert_eq!(distrust(&caller).await, expected, "{opener:?} {acceptor:?}");
            assert!(acceptor.counts.of(outcome) > 0, "{opener:?} {acceptor:?}");
            assert!(!caller.is_connected());
            assert_eq!(hellos.get(), 0, "a hello was parsed");
        });
    }
}

#[test]
fn who_proves_the_secret_is_served() {
    let cases = [
        (Mode::Required, Mode::Required),
        (Mode::Required, Mode::Offered),
        (Mode::Offered, Mode::Required),
        (Mode::Offered, Mode::Offered),
    ];
    for (opener, acceptor) in cases {
        local(async {
            let acceptor = guard(acceptor, OURS);
            let (addr, _) = serve(acceptor.clone()).await;
            let caller = caller(&addr, guard(opener, OURS));
            timeout(SECOND, caller.connected()).await.unwrap();
            assert_eq!(caller.call("hi".into(), SECOND).await.unwrap(), "hi");
            assert_eq!(caller.distrust(), None);
            assert_eq!(acceptor.counts.of(Outcome::Proven), 1);
            assert_eq!(acceptor.counts.of(Outcome::Plain), 0);
        });
    }
}

#[test]
fn who_offers_is_served_without_a_proof_and_says_so() {
    let off = || Guard::off(Door::Peer);
    let cases = [
        (guard(Mode::Offered, OURS), off(), Some(Refusal::NoSecret)),
        (
            guard(Mode::Offered, OURS),
            guard(Mode::Offered, THEIRS),
            Some(Refusal::Wrong),
        ),
        (off(), guard(Mode::Offered, OURS), None),
    ];
    for (opener, acceptor, expected) in cases {
        local(async {
            let (addr, _) = serve(acceptor.clone()).await;
            let caller = caller(&addr, opener.clone());
            timeout(SECOND, caller.connected()).await.unwrap();
            assert_eq!(caller.call("hi".into(), SECOND).await.unwrap(), "hi");
            assert_eq!(caller.distrust(), expected, "{opener:?} {acceptor:?}");
            assert_eq!(acceptor.counts.of(Outcome::Plain), 1);
        });
    }
}

#[test]
fn secrets_are_exchanged_without_a_failed_call() {
    local(async {
        let (old, new) = (OURS, THEIRS);
        let acceptor = guard(Mode::Required, old);
        let opener = guard(Mode::Required, old);
        let (addr, _) = serve(acceptor.clone()).await;
        let set =
            |guard: &Guard, text: String| guard.replace(Secrets::parse(text.as_bytes()).unwrap());
        let both = format!("{old}\n{new}");
        let turned = format!("{new}\n{old}");
        let steps = [
            (&acceptor, both.clone()),
            (&opener, both),
            (&opener, turned.clone()),
            (&acceptor, turned),
            (&acceptor, new.to_owned()),
            (&opener, new.to_owned()),
        ];
        for (side, text) in steps {
            set(side, text);
            let caller = caller(&addr, opener.clone());
            timeout(SECOND, caller.connected()).await.unwrap();
            assert_eq!(caller.call("hi".into(), SECOND).await.unwrap(), "hi");
        }
        let late = caller(&addr, guard(Mode::Required, old));
        assert_eq!(distrust(&late).await, Refusal::Wrong);
    });
}

/// Sends `bytes`, hangs up its side, and gives what came back.
async fn answer_to(addr: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    // It may have been hung up on.
    let _ = stream.write_all(bytes).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = timeout(SECOND * 3, stream.read_to_end(&mut answer))
        .await
        .unwrap();
    answer
}

#[test]
fn a_stranger_is_told_little_and_costs_little() {
    local(async {
        let acceptor = guard(Mode::Required, OURS);
        let (addr, hellos) = serve(acceptor.clone()).await;
        // A whole hello and a frame behind it.
        let mut hello = b"DNLN\x02\0\x05\0hello".to_vec();
        hello.extend_from_slice(&crc32c::crc32c(&hello).to_le_bytes());
        hello.extend_from_slice(&[9; 4096]);
        let answer = answer_to(&addr, &hello).await;
        assert!(answer.len() <= 40, "{answer:?}");
        for bytes in [
            &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
            b"DNLN\x02\0\xff\xff",
            &[0x16, 3, 1],
        ] {
            let answer = answer_to(&addr, bytes).await;
            assert!(answer.is_empty(), "{answer:?}");
        }
        assert_eq!(hellos.get(), 0);
    });
}

/// Else so many that say nothing would keep everybody out until they are given up, here after a minute.
#[test]
fn strangers_that_say_nothing_give_way() {
    local(async {
        let acceptor = guard(Mode::Required, OURS);
        let (addr, _) = serve_within(60 * SECOND, acceptor.clone()).await;
        let mut silent = Vec::new();
        for _ in 0..2 * OPENING_MAX {
            silent.push(TcpStream::connect(&addr).await.unwrap());
        }
        let caller = caller(&addr, guard(Mode::Required, OURS));
        timeout(20 * SECOND, caller.connected()).await.unwrap();
        assert!(acceptor.counts.of(Outcome::Crowded) >= OPENING_MAX as u64);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_bytes_get_through(mut bytes in prop::collection::vec(any::<u8>(), 0..200), valid in 0..4) {
        let opening: &[u8] = match valid {
            1 => b"DNSC\x01\0\x01\0",
            2 => b"DNLN\x02\0\x05\0",
            3 => b"DNSC",
            _ => b"",
        };
        bytes.splice(0..0, opening.iter().copied());
        let got_through = local(async {
            let (addr, hellos) = serve(guard(Mode::Required, OURS)).await;
            let answer = answer_to(&addr, &bytes).await;
            assert!(answer.len() <= 80);
            hellos.get()
        });
        prop_assert_eq!(got_through, 0);
    }
}
