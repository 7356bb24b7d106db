#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-LENGTH:  5 \r\nDate: x\r\n\r\nhello";

#[test]
fn reads_status_length_and_where_the_body_starts() {
    let response = parse(OK).unwrap().unwrap();
    assert_eq!((response.status, response.body_length), (200, 5));
    assert_eq!(&OK[response.head_length..], b"hello");
    assert!(!response.close);
}

#[test]
fn waits_for_every_byte_of_the_head() {
    let head = OK.len() - 5;
    for length in 0..head {
        assert_eq!(parse(&OK[..length]), Ok(None), "{length}");
    }
    assert!(parse(&OK[..head]).unwrap().is_some());
}

#[test]
fn a_reason_is_optional_and_close_is_seen() {
    let response = parse(b"HTTP/1.1 201\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n")
        .unwrap()
        .unwrap();
    assert_eq!((response.status, response.body_length), (201, 0));
    assert!(response.close);
}

#[test]
fn no_content_needs_no_length() {
    let response = parse(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap().unwrap();
    assert_eq!(response.body_length, 0);
}

#[test]
fn refuses_what_it_cannot_measure() {
    for bad in [
        &b"HTTP/1.1 200 OK\r\n\r\n"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 2x0 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"SSH-2.0\r\n\r\n",
    ] {
        assert!(parse(bad).is_err(), "{}", String::from_utf8_lossy(bad));
    }
    assert!(parse(&[b'x'; HEAD_LENGTH_MAX + 1]).is_err());
}

proptest! {
    #[test]
    fn never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse(&bytes);
        let _ = parse(&[b"HTTP/1.1 200 OK\r\n", &bytes[..], b"\r\n\r\n"].concat());
    }
}
