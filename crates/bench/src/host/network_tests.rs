#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

#[test]
fn reads_the_loopback_of_all_interfaces() {
    let dev = "Inter-|   Receive\n face |bytes    packets\n  eth0: 5 1 0\n    lo: 1234 9 0\n";
    assert_eq!(received(dev), Some(1234));
    assert_eq!(received("eth0: 5 1\n"), None);
}

#[test]
fn a_listener_is_seen_and_a_connection_is_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let me = std::process::id();
    assert!(listens(me, port));
    assert!(!listens(1, port) && !listens(u32::MAX, port), "another's");
    let before = loopback_bytes().unwrap();
    let mut near = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    near.write_all(&[7; 10_000]).unwrap();
    far.read_exact(&mut [0; 10_000]).unwrap();
    assert!(loopback_bytes().unwrap() >= before + 10_000);
    drop(listener);
    assert!(!listens(me, port));
}
