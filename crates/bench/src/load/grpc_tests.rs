#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn called() -> Streams {
    let mut streams = Streams::default();
    let message = |out: &mut Vec<u8>| out.push(7);
    Method::new("/a/b").call(&mut streams, &mut Vec::new(), message);
    streams
}

#[test]
fn a_call_is_headers_and_one_message_on_the_next_stream() {
    let (mut streams, mut out) = (Streams::default(), Vec::new());
    let method = Method::new("/etcdserverpb.KV/Put");
    method.call(&mut streams, &mut out, |out| {
        out.extend_from_slice(&[7; 221]);
    });
    let headers = u32::from_be_bytes([0, out[0], out[1], out[2]]) as usize;
    assert_eq!(&out[3..9], [HEADERS, END_HEADERS, 0, 0, 0, 1]);
    let data = &out[9 + headers..];
    assert_eq!(data[..9], [0, 0, 226, DATA, END_STREAM, 0, 0, 0, 1]);
    assert_eq!(data[9..14], [0, 0, 0, 0, 221]);
    assert_eq!(data[14..], [7; 221]);
    out.clear();
    method.call(&mut streams, &mut out, |_| {});
    assert_eq!(out[8], 3, "streams are odd");
}

#[test]
fn settings_and_pings_are_answered_and_trailers_waited_for() {
    let (mut streams, mut out, mut input) = (called(), Vec::new(), Vec::new());
    frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 64, 0], &mut input);
    frame(PING, 0, 0, &[7; 8], &mut input);
    frame(HEADERS, END_HEADERS, 1, &[0x88], &mut input);
    // One message in two frames.
    frame(DATA, 0, 1, &[0, 0, 0, 0, 2, 10], &mut input);
    frame(DATA, 0, 1, &[11], &mut input);
    let before = input.len();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &[1, 2], &mut input);
    let got = streams.receive(&input[..input.len() - 1], &mut out);
    assert_eq!(got, Ok((before, false)));
    assert_eq!(&out[..9], [0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0]);
    assert_eq!(
        &out[9..],
        [0, 0, 8, PING, ACK, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7]
    );
    let got = streams.receive(&input[before..], &mut out);
    assert_eq!(got, Ok((input.len() - before, true)));
    assert_eq!(streams.message(), Some(&[10, 11][..]));
}

#[test]
fn trailers_alone_a_cut_message_and_a_compressed_one_are_none() {
    for data in [&[][..], &[0, 0, 0, 0, 2, 1], &[1, 0, 0, 0, 1, 1], &[0, 0]] {
        let (mut streams, mut input) = (called(), Vec::new());
        if !data.is_empty() {
            frame(DATA, 0, 1, data, &mut input);
        }
        frame(HEADERS, END_HEADERS | END_STREAM, 1, &[1], &mut input);
        let got = streams.receive(&input, &mut Vec::new());
        assert_eq!(got, Ok((input.len(), true)));
        assert_eq!(streams.message(), None, "{data:?}");
    }
}

#[test]
fn the_end_of_stream_or_connection_is_an_error_and_other_streams_are_passed_over() {
    for kind in [GO_AWAY, RESET] {
        let mut input = Vec::new();
        frame(kind, 0, 1, &[0; 8], &mut input);
        assert!(called().receive(&input, &mut Vec::new()).is_err());
    }
    // A reset of a stream that was answered comes late, with the next request on its way or without.
    for is_next_sent in [false, true] {
        let (mut streams, mut input) = (called(), Vec::new());
        frame(DATA, END_STREAM, 1, &[0; 5], &mut input);
        let got = streams.receive(&input, &mut Vec::new());
        assert_eq!(got, Ok((input.len(), true)));
        if is_next_sent {
            Method::new("/a/b").call(&mut streams, &mut Vec::new(), |_| {});
        }
        input.clear();
        frame(RESET, 0, 1, &[0; 4], &mut input);
        let got = streams.receive(&input, &mut Vec::new());
        assert_eq!(got, Ok((input.len(), false)));
    }
    let (mut streams, mut input) = (called(), Vec::new());
    frame(DATA, END_STREAM, 99, &[0, 0, 0, 0, 1, 1], &mut input);
    let got = streams.receive(&input, &mut Vec::new());
    assert_eq!((got, streams.message()), (Ok((input.len(), false)), None));
}
