//! What a node of the build before said to another, byte by byte, said to one of this build: as in
//! a rolling upgrade, when half of the nodes are of each. (`make mixed` has real ones.)

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::harness::eventually;
use crate::harness::flock::Flock;

/// A connection of protocol 1.
struct Old {
    stream: TcpStream,
    calls: u64,
}

impl Old {
    /// `asker` is a registered node's number. The status of the answer.
    fn open(address: SocketAddr, asker: u16, wanted: &str) -> (Old, u16) {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let mut old = Old { stream, calls: 0 };
        let mut hello = b"DNLN\x01\0".to_vec();
        hello.extend((4 + wanted.len() as u16).to_le_bytes());
        // Shard 0.
        hello.extend([0, 0]);
        hello.extend(asker.to_le_bytes());
        hello.extend(wanted.as_bytes());
        hello.extend(crc32c(&hello).to_le_bytes());
        old.stream.write_all(&hello).unwrap();
        let mut answer = [0; 12];
        old.stream.read_exact(&mut answer).unwrap();
        assert_eq!(&answer[..4], b"DNLN");
        assert_eq!(crc32c(&answer[..8]).to_le_bytes(), answer[8..]);
        assert_eq!(answer[4], 1, "it must speak as it is spoken to");
        (old, u16::from_le_bytes([answer[6], answer[7]]))
    }

    /// One request; the body of its response.
    fn call(&mut self, body: &[u8]) -> Vec<u8> {
        self.calls += 1;
        let mut frame = vec![0];
        frame.extend(self.calls.to_le_bytes());
        frame.extend(body);
        self.stream
            .write_all(&(frame.len() as u32).to_le_bytes())
            .unwrap();
        self.stream
            .write_all(&crc32c(&frame).to_le_bytes())
            .unwrap();
        self.stream.write_all(&frame).unwrap();
        loop {
            let mut head = [0; 8];
            self.stream.read_exact(&mut head).unwrap();
            let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let mut frame = vec![0; length as usize];
            self.stream.read_exact(&mut frame).unwrap();
            assert_eq!(crc32c(&frame).to_le_bytes(), head[4..]);
            // A ping may come in between.
            if frame[0] != 3 {
                assert_eq!(frame[0], 1, "refused: {}", String::from_utf8_lossy(&frame));
                assert_eq!(frame[1..9], self.calls.to_le_bytes());
                return frame.split_off(9);
            }
        }
    }
}

/// By the book, a bit at a time.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = sum >> 1 ^ if sum & 1 == 1 { 0x82f6_3b78 } else { 0 };
        }
    }
    !sum
}

/// A write as the build before encodes it: put or delete, `ack` of 3, without condition or expiry.
fn write(kind: u8, ack: u8, key: &str, value: &[u8]) -> Vec<u8> {
    let mut body = vec![1];
    body.extend(1_u32.to_le_bytes());
    body.extend([kind, ack, 3, 0, 0]);
    for bytes in [key.as_bytes(), value] {
        body.extend((bytes.len() as u32).to_le_bytes());
        body.extend(bytes);
    }
    body
}

#[test]
fn the_build_before_is_understood() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let mut flock = Flock::start(&[]);
    let nodes = flock.nodes[0].status()["nodes"].clone();
    let id_of = |name: &str| {
        let nodes = nodes.as_array().unwrap().iter();
        let mut named = nodes.filter(|node| node["name"] == name);
        named.next().unwrap()["id"].as_u64().unwrap() as u16
    };
    // In the place of the third node comes one that speaks as it did.
    flock.stop(2);
    let listen = SocketAddr::from(([127, 0, 0, 1], flock.nodes[0].listen));
    let (mut old, status) = Old::open(listen, id_of("n3"), "n1");
    assert_eq!(status, 0);
    let (_, not_served) = Old::open(listen, id_of("n3"), "n7");
    assert_eq!(not_served, 2);
    eventually("its write is acknowledged", Duration::from_secs(20), || {
        let answer = old.call(&write(1, 2, "old", b"spoken"));
        // Written, done; then the stamp.
        answer[..2] == [1, 1] && answer.len() == 18
    });
    for node in &flock.nodes[..2] {
        assert_eq!(node.get("old", "").text(), "spoken");
    }
    let answer = old.call(&write(2, 2, "old", b""));
    assert_eq!(answer[..2], [1, 1]);
    for node in &flock.nodes[..2] {
        assert_eq!(node.get("old", "").status, 404);
    }
    // Three of three cannot be had; it is told so, not left alone.
    let answer = old.call(&write(1, 3, "old", b"too much"));
    assert_eq!(answer[..2], [1, 4], "{answer:?}");
    let status = old.call(&[10]);
    assert_eq!(status[0], 9);
    let json: serde_json::Value = serde_json::from_slice(&status[1..]).unwrap();
    assert!(json.is_object(), "{json}");
    // An exchange of vectors, its own being empty: a length, a count, and pairs. More may follow.
    let vectors = old.call(&[5, 4, 0, 0, 0, 0, 0, 0, 0]);
    let number = |at: usize| u32::from_le_bytes(*vectors[at..].first_chunk().unwrap()) as usize;
    let (length, count) = (number(1), number(5));
    assert_eq!(vectors[0], 5);
    assert_eq!(length, 4 + 16 * count);
    assert!(count >= 1 && vectors.len() >= 5 + length, "{vectors:?}");
}
