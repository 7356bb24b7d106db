#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn messages_with_and_without_headers_and_reply() {
    for (input, headers, payload) in [
        (&b"MSG a.b 1 5\r\nhello\r\n"[..], None, &b"hello"[..]),
        (b"MSG a.b 1 reply.to 0\r\n\r\n", None, b""),
        (
            b"HMSG a.b  1 10 12\r\nNATS/1.0\r\nhi\r\n",
            Some(&b"NATS/1.0\r\n"[..]),
            b"hi",
        ),
        (
            b"HMSG a.b 1 re.ply 12 12\r\nNATS/1.0\r\n\r\n\r\n",
            Some(b"NATS/1.0\r\n\r\n"),
            b"",
        ),
    ] {
        for cut in 0..input.len() {
            assert_eq!(Frame::read(&input[..cut]), Ok(None), "{cut}");
        }
        let message = Message {
            subject: b"a.b",
            headers,
            payload,
        };
        let read = (Frame::Message(message), input.len());
        assert_eq!(Frame::read(input), Ok(Some(read)));
        let longer = [input, b"PING\r\n"].concat();
        assert_eq!(Frame::read(&longer), Ok(Some(read)));
    }
}

#[test]
fn what_the_server_says_by_itself() {
    for (input, frame) in [
        (&b"PING\r\n"[..], Frame::Ping),
        (b"PONG\r\n", Frame::Said),
        (b"+OK\r\n", Frame::Said),
        (b"INFO {\"server_id\":\"N\"} \r\n", Frame::Said),
    ] {
        assert_eq!(Frame::read(input), Ok(Some((frame, input.len()))));
    }
}

#[test]
fn errors_and_what_no_server_sends_are_refused() {
    for wrong in [
        &b"-ERR 'Stale Connection'\r\n"[..],
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\r\n",
        b"MSG\r\n",
        b"MSG a.b 1\r\n",
        b"MSG a.b 1 x\r\n",
        b"MSG a.b 1 -1\r\n",
        b"MSG a.b 1 re ply 1\r\n",
        b"MSG a.b 1 2\r\nhello\r\n",
        b"HMSG a.b 1 5\r\nhello\r\n",
        b"HMSG a.b 1 9 5\r\nhello\r\n",
    ] {
        let read = Frame::read(wrong);
        assert!(read.is_err(), "{read:?}: {wrong:?}");
    }
    assert!(Frame::read(&[b'x'; LINE_LENGTH_MAX + 1]).is_err());
}

#[test]
fn a_status_is_a_number_in_the_first_line() {
    let status = |headers| {
        let (subject, payload) = (&b"a"[..], &b""[..]);
        Message {
            subject,
            headers,
            payload,
        }
        .status()
    };
    assert_eq!(status(Some(b"NATS/1.0 503\r\n\r\n")), Some(503));
    assert_eq!(
        status(Some(b"NATS/1.0 404 Message Not Found\r\n\r\n")),
        Some(404)
    );
    assert_eq!(
        status(Some(b"NATS/1.0\r\nNats-Sequence: 404\r\n\r\n")),
        None
    );
    assert_eq!(status(None), None);
}
