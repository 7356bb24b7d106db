//! What a node of the build before said to another, byte by byte, said to one of this build: as in
//! a rolling upgrade, when half of the nodes are of each. (`make mixed` has real ones.)

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime};

use crate::harness::eventually;
use crate::harness::flock::{Flock, Node};

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
        let (kind, body) = self.ask(body);
        assert_eq!(kind, 1, "refused: {}", String::from_utf8_lossy(&body));
        body
    }

    /// One request; kind and body of what answers it: a response, or a refusal.
    fn ask(&mut self, body: &[u8]) -> (u8, Vec<u8>) {
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
                assert_eq!(frame[1..9], self.calls.to_le_bytes());
                let body = frame.split_off(9);
                return (frame[0], body);
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

/// A registered node's number.
fn id_of(flock: &Flock, name: &str) -> u16 {
    let status = flock.nodes[0].status();
    let mut nodes = status["nodes"].as_array().unwrap().iter();
    let node = nodes.find(|node| node["name"] == name).unwrap();
    node["id"].as_u64().unwrap() as u16
}

/// An entry, by the book: a put of the default keyspace.
fn entry(flags: u8, version: u64, origin: u64) -> Vec<u8> {
    let mut entry = vec![1, flags, 3, 0, 0, 0];
    entry.extend(1_u32.to_le_bytes());
    entry.extend(version.to_le_bytes());
    entry.extend(origin.to_le_bytes());
    entry.extend(3_u32.to_le_bytes());
    entry.extend(b"keyvalue");
    entry
}

/// What `origin` has logged up to `up_to`, all of it.
fn batch(origin: u64, up_to: u64, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![3];
    for number in [origin, 0, up_to] {
        body.extend(number.to_le_bytes());
    }
    body.extend(list(entries));
    body
}

fn list(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut body = (entries.len() as u32).to_le_bytes().to_vec();
    for entry in entries {
        body.extend((entry.len() as u32).to_le_bytes());
        body.extend(entry);
    }
    body
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap().as_millis() as u64
}

/// Frames whole and with right checksums, in which every number is the greatest there is.
#[test]
fn the_greatest_stamps_are_refused_and_harm_nobody() {
    let mut flock = Flock::start(&[]);
    let greatest = u64::MAX;
    let third = id_of(&flock, "n3");
    // Its first start, and one that never was.
    let origins = [
        u64::from(third) << 48 | 1,
        u64::from(third) << 48 | 7,
        greatest,
    ];
    for at in 0..2 {
        let listen = SocketAddr::from(([127, 0, 0, 1], flock.nodes[at].listen));
        let (mut peer, status) = Old::open(listen, third, &flock.nodes[at].name);
        assert_eq!(status, 0);
        let refused = |node: &Node| {
            let status = node.status();
            let own = format!("{}/", node.name);
            let shards = status["shards"].as_array().unwrap().iter();
            shards
                .filter(|shard| shard["shard"].as_str().unwrap().starts_with(&own))
                .map(|shard| shard["refused_stamps"].as_u64().unwrap())
                .sum::<u64>()
        };
        let before = refused(&flock.nodes[at]);
        for origin in origins {
            // Replicated: refused.
            assert_eq!(peer.call(&batch(origin, greatest, &[])), [3, 3]);
            let far = entry(0, greatest, origin);
            assert_eq!(
                peer.call(&batch(origin, greatest, std::slice::from_ref(&far))),
                [3, 3]
            );
            // A vector that has seen it all is heard, and not believed.
            let mut vectors = vec![5, 20, 0, 0, 0, 1, 0, 0, 0];
            vectors.extend(origin.to_le_bytes());
            vectors.extend(greatest.to_le_bytes());
            let told = peer.call(&vectors);
            assert_eq!(told[0], 5);
            assert!(!told.windows(8).any(|word| word == greatest.to_le_bytes()));
            // A repair.
            let mut repair = vec![9];
            repair.extend(list(&[entry(2, greatest, origin)]));
            assert_eq!(peer.ask(&repair).0, 2);
            // Up to where it has the origin, and what its log has of it behind the end of time.
            let mut position = vec![4];
            position.extend(origin.to_le_bytes());
            let at = peer.call(&position);
            assert!(at[0] == 4 && at[1..] != greatest.to_le_bytes(), "{at:?}");
            for resume in [0, greatest] {
                let mut pull = vec![6];
                pull.extend(origin.to_le_bytes());
                pull.extend(greatest.to_le_bytes());
                pull.extend(third.to_le_bytes());
                pull.extend([0, 0]);
                pull.extend(resume.to_le_bytes());
                assert_eq!(peer.call(&pull)[0], 6);
            }
        }
        assert!(refused(&flock.nodes[at]) >= before + 3 * 3);
        // Writes that are to be stamped above the greatest, or not above 0.
        for (deadline, floor) in [(greatest, greatest), (greatest - 1, greatest), (0, 0)] {
            let mut late = write(1, 2, "late", b"never");
            late.extend(deadline.to_le_bytes());
            late.extend(floor.to_le_bytes());
            let answer = peer.call(&late);
            assert!(answer[..2] == [1, 5] || answer[..2] == [1, 6], "{answer:?}");
        }
        // A condition that is to be asked of 256 replicas.
        let mut condition = write(1, 0, "odd", b"never");
        condition[7..9].copy_from_slice(&[255, 1]);
        assert_eq!(peer.call(&condition)[0], 1);
        // What replaces the greatest stamp can be written above, and again.
        let mut replacing = write(1, 2, "replaced", b"once");
        replacing.extend(((now_ms() + 5_000) << 16).to_le_bytes());
        replacing.extend(0_u64.to_le_bytes());
        replacing.push(1);
        replacing.extend([255; 16]);
        let answer = peer.call(&replacing);
        assert!(answer[..2] == [1, 1], "{answer:?}");
    }
    for at in 0..3 {
        assert!(flock.nodes[at].is_running(), "{}", flock.nodes[at].output());
        for key in ["key", "late", "odd", "replaced"] {
            let value = format!("{key} by {at}");
            let put = flock.nodes[at].put(key, value.as_bytes(), "&ack=3");
            assert_eq!(put.status, 201, "{}", put.text());
            let stamped_ms = u64::from_str_radix(&put.version()[..12], 16).unwrap();
            assert!(stamped_ms.abs_diff(now_ms()) < 20_000, "{stamped_ms}");
            for node in &flock.nodes {
                assert_eq!(node.get(key, "").text(), value);
            }
        }
    }
    for at in 0..3 {
        flock.stop(at);
    }
    flock.up_all();
    for node in &flock.nodes {
        assert_eq!(node.get("replaced", "").text(), "replaced by 2");
    }
    for node in &flock.nodes {
        assert_eq!(node.put("replaced", b"anew", "&ack=3").status, 201);
    }
}

#[test]
fn the_build_before_is_understood() {
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    let mut flock = Flock::start(&[]);
    let third = id_of(&flock, "n3");
    // In the place of the third node comes one that speaks as it did.
    flock.stop(2);
    let listen = SocketAddr::from(([127, 0, 0, 1], flock.nodes[0].listen));
    let (mut old, status) = Old::open(listen, third, "n1");
    assert_eq!(status, 0);
    let (_, not_served) = Old::open(listen, third, "n7");
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
