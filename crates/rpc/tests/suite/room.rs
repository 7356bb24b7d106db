//! Large requests arrive where there is room for them.

use crate::common::frames::{encoded, sealed};
use crate::common::*;
use bytes::Bytes;
use dunlin_rpc::{ConnectOptions, Limits, Reply, Room, Service};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const LARGE: usize = 1 << 20;

/// Echoes, and counts the room that is left.
#[derive(Default)]
struct Roomy(Rc<Cell<usize>>);

/// Room that is given back.
struct Held(Rc<Cell<usize>>, usize);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.set(self.0.get() + self.1);
    }
}

impl Service<Bytes, Bytes> for Roomy {
    fn handle(&self, request: Bytes, reply: Reply<Bytes>) {
        reply.send(request);
    }

    fn room(&self, bytes: usize) -> Option<Room> {
        assert!(bytes > LARGE, "{bytes} need no room");
        let left = self.0.get().checked_sub(bytes)?;
        self.0.set(left);
        Some(Box::new(Held(self.0.clone(), bytes)))
    }
}

#[test]
fn a_large_request_waits_for_room_and_gives_it_back() {
    local(async {
        let left = Rc::new(Cell::new(0));
        let addr = serve(Rc::new(Roomy(left.clone())), Limits::default()).await;
        let large = Bytes::from(vec![b'l'; LARGE]);
        let one = caller(&addr, ConnectOptions::default()).await;
        let other = caller(&addr, ConnectOptions::default()).await;
        let waiting = one.call(large.clone(), 20 * SECOND);
        tokio::pin!(waiting);
        let early = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(early.is_err(), "{early:?}");
        // Small ones need none, at another connection.
        assert_eq!(other.call("on".into(), SECOND).await, Ok("on".into()));
        left.set(3 * LARGE / 2);
        assert_eq!(waiting.await, Ok(large.clone()));
        assert_eq!(left.get(), 3 * LARGE / 2);
        // There is room for one at a time.
        let both = tokio::join!(
            one.call(large.clone(), 20 * SECOND),
            other.call(large.clone(), 20 * SECOND)
        );
        assert_eq!(both, (Ok(large.clone()), Ok(large)));
        assert_eq!(left.get(), 3 * LARGE / 2);
    });
}

#[test]
fn a_request_that_is_cut_short_gives_its_room_back() {
    local(async {
        let left = Rc::new(Cell::new(2 * LARGE));
        let addr = serve(Rc::new(Roomy(left.clone())), Limits::default()).await;
        let mut stream = TcpStream::connect(&addr).await.unwrap();
        let hello = sealed(b"DNLN\x07\0\x04\0echo");
        stream.write_all(&hello).await.unwrap();
        let mut body = 60_000_u32.to_le_bytes().to_vec();
        body.extend(vec![b'l'; LARGE]);
        let frame = encoded(0, 1, &body);
        stream.write_all(&frame[..LARGE / 2]).await.unwrap();
        while left.get() == 2 * LARGE {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        drop(stream);
        while left.get() < 2 * LARGE {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    });
}
