//! How connections are opened: versions, those who are replaced, and those who come back.

use crate::common::{EchoCaller, SECOND, echo, local};
use bytes::Bytes;
use dunlin_rpc::{
    Caller, ConnectOptions, Hello, Limits, Opening, PROTOCOL, Status, TcpTransport, Transport,
    accept, connect, serve_accepted,
};
use dunlin_secret::{Door, Guard};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

/// What was said and heard by one who opens connections.
#[derive(Default)]
struct Notes {
    hellos: Cell<u32>,
    welcomes: RefCell<Vec<Bytes>>,
    superseded: RefCell<Option<Bytes>>,
    is_choosy: Cell<bool>,
}

struct Noting(Rc<Notes>);

impl Opening for Noting {
    fn hello(&self) -> Bytes {
        self.0.hellos.set(self.0.hellos.get() + 1);
        Bytes::from_static(b"hello")
    }

    fn is_welcome(&self, body: &[u8]) -> bool {
        let body = Bytes::copy_from_slice(body);
        self.0.welcomes.borrow_mut().push(body);
        !self.0.is_choosy.get()
    }

    fn superseded(&self, body: &[u8]) {
        *self.0.superseded.borrow_mut() = Some(Bytes::copy_from_slice(body));
    }
}

fn noting(addr: &str, options: ConnectOptions) -> (EchoCaller, Rc<Notes>) {
    let notes = Rc::new(Notes::default());
    let transport = Arc::new(TcpTransport);
    let caller = connect(transport, addr, Noting(notes.clone()), options);
    (caller, notes)
}

/// Serves by `verdict`; gives the address.
async fn serve(verdict: impl Fn(&Hello) -> Option<Status> + 'static) -> String {
    serve_at("127.0.0.1:0", verdict).await
}

async fn serve_at(addr: &str, verdict: impl Fn(&Hello) -> Option<Status> + 'static) -> String {
    let listener = TcpTransport.listen(addr).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let running = accept::run(
        listener,
        SECOND,
        Guard::off(Door::Peer),
        move |hello, stream| {
            let why = verdict(&hello);
            tokio::task::spawn_local(async move {
                match why {
                    None => {
                        serve_accepted(stream, b"served", echo(), Limits::default()).await;
                    }
                    Some(why) => accept::refuse(stream, why, b"refused").await.unwrap(),
                }
            });
        },
    );
    tokio::task::spawn_local(running);
    addr
}

async fn echoes(caller: &Caller<Bytes, Bytes>) {
    let answer = caller.call("hi".into(), SECOND).await.unwrap();
    assert_eq!(answer, "hi");
}

#[test]
fn both_sides_say_what_they_have_to() {
    local(async {
        let addr = serve(|hello| (&hello.body[..] != b"hello").then_some(Status::NotServed)).await;
        let (caller, notes) = noting(&addr, ConnectOptions::default());
        timeout(SECOND, caller.connected()).await.unwrap();
        echoes(&caller).await;
        assert_eq!(*notes.welcomes.borrow(), ["served"]);
    });
}

/// It is refused in one line, and asked again the next time: it may be another build by then.
#[test]
fn a_peer_of_another_version_is_no_connection_until_it_is_of_this_one() {
    local(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let asked = tokio::task::spawn_local(async move {
            for _ in 0..2 {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 8];
                stream.read_exact(&mut head).await.unwrap();
                assert_eq!(u16::from_le_bytes([head[4], head[5]]), PROTOCOL);
                let mut answer = b"DNLN\x03\x00\x01\x00\0\0".to_vec();
                let checksum = crc32c::crc32c(&answer);
                answer.extend_from_slice(&checksum.to_le_bytes());
                stream.write_all(&answer).await.unwrap();
            }
        });
        let (caller, notes) = noting(&addr, ConnectOptions::default());
        timeout(SECOND, asked).await.unwrap().unwrap();
        while notes.hellos.get() < 2 || !caller.has_failed() {
            sleep(SECOND / 100).await;
        }
        assert!(!caller.is_connected() && notes.welcomes.borrow().is_empty());
        serve_at(&addr, |_| None).await;
        timeout(SECOND, caller.connected()).await.unwrap();
        echoes(&caller).await;
    });
}

#[test]
fn who_speaks_another_version_is_told_which_this_is() {
    local(async {
        let addr = serve(|_| None).await;
        let mut stream = TcpStream::connect(&addr).await.unwrap();
        stream.write_all(b"DNLN\x03\x00\x00\x00").await.unwrap();
        let mut answer = [0; 10];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(
            answer,
            [b'D', b'N', b'L', b'N', PROTOCOL as u8, 0, 1, 0, 0, 0]
        );
    });
}

#[test]
fn who_is_replaced_is_told() {
    local(async {
        let addr = serve(|_| Some(Status::Superseded)).await;
        let (caller, notes) = noting(&addr, ConnectOptions::default());
        while notes.superseded.borrow().is_none() {
            sleep(SECOND / 100).await;
        }
        assert_eq!(notes.superseded.borrow().as_deref(), Some(&b"refused"[..]));
        assert!(!caller.is_connected() && caller.has_failed());
    });
}

#[test]
fn an_answer_that_is_not_wanted_is_no_connection() {
    local(async {
        let addr = serve(|_| None).await;
        let (caller, notes) = noting(&addr, ConnectOptions::default());
        notes.is_choosy.set(true);
        while notes.welcomes.borrow().len() < 3 {
            assert!(!caller.is_connected());
            sleep(SECOND / 100).await;
        }
        notes.is_choosy.set(false);
        timeout(SECOND, caller.connected()).await.unwrap();
        echoes(&caller).await;
    });
}

/// Attempts so far apart that only `retry_now` can have made the connection.
fn patient() -> ConnectOptions {
    ConnectOptions {
        backoff_min: Duration::from_secs(50),
        backoff_max: Duration::from_secs(50),
        ..ConnectOptions::default()
    }
}

#[test]
fn who_has_shown_itself_is_dialed_at_once() {
    local(async {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = free.local_addr().unwrap().to_string();
        drop(free);
        let (caller, notes) = noting(&addr, patient());
        while !caller.has_failed() {
            sleep(SECOND / 100).await;
        }
        let refused = Instant::now();
        sleep(SECOND + SECOND / 10).await;
        assert!(!caller.is_coming(), "down for {:?}", refused.elapsed());
        serve_at(&addr, |_| None).await;
        caller.retry_now();
        assert!(caller.is_coming());
        timeout(SECOND, caller.connected()).await.unwrap();
        assert!(!caller.is_coming() && !caller.has_failed());
        echoes(&caller).await;
        // Said of one who is there, it does nothing.
        caller.retry_now();
        echoes(&caller).await;
        assert_eq!(caller.stats().reconnects, 0);
        assert!(notes.hellos.get() <= 2);
    });
}

#[test]
fn a_connection_is_exchanged_for_another() {
    local(async {
        let addr = serve(|_| None).await;
        let (caller, notes) = noting(&addr, patient());
        timeout(SECOND, caller.connected()).await.unwrap();
        for hellos in 2..5 {
            caller.redial();
            while caller.stats().reconnects + 1 < hellos {
                sleep(SECOND / 100).await;
            }
            echoes(&caller).await;
            assert_eq!(u64::from(notes.hellos.get()), hellos);
        }
    });
}
