#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::Order;
use super::*;

fn puts() -> EtcdPuts {
    let keys = KeySet {
        tag: b'e',
        order: Order::Sequential,
    };
    EtcdPuts::new(keys, Choice::Each { next: 0, end: 9 }, Values::new(200))
}

#[test]
fn a_request_is_headers_and_one_grpc_message() {
    let (mut puts, mut streams, mut out) = (puts(), Streams::default(), Vec::new());
    assert!(puts.request(&mut streams, &mut out));
    let headers = u32::from_be_bytes([0, out[0], out[1], out[2]]) as usize;
    assert_eq!(&out[3..9], [HEADERS, END_HEADERS, 0, 0, 0, 1]);
    let data = &out[9 + headers..];
    // 5 of gRPC, 2 + 16 of key, 1 + 2 + 200 of value.
    assert_eq!(data[..9], [0, 0, 226, DATA, END_STREAM, 0, 0, 0, 1]);
    assert_eq!(data[9..14], [0, 0, 0, 0, 221]);
    assert_eq!(data[14 + 18..14 + 21], [0x12, 0xc8, 0x01]);
    assert_eq!(data.len(), 9 + 226);
    out.clear();
    assert!(puts.request(&mut streams, &mut out));
    assert_eq!(out[8], 3, "streams are odd");
}

#[test]
fn answers_settings_and_pings_and_waits_for_the_trailers() {
    let (mut puts, mut streams, mut out) = (puts(), Streams::default(), Vec::new());
    puts.request(&mut streams, &mut out);
    let mut input = Vec::new();
    frame(SETTINGS, 0, 0, &[0, 5, 0, 0, 64, 0], &mut input);
    frame(PING, 0, 0, &[7; 8], &mut input);
    frame(HEADERS, END_HEADERS, 1, &[0x88], &mut input);
    frame(DATA, 0, 1, &[0, 0, 0, 0, 2, 10, 0], &mut input);
    let before = input.len();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &[1, 2], &mut input);
    out.clear();
    let got = puts.response(&mut streams, &input[..input.len() - 1], &mut out);
    assert_eq!(got, Ok(Progress::Incomplete { consumed: before }));
    assert_eq!(&out[..9], [0, 0, 0, SETTINGS, ACK, 0, 0, 0, 0]);
    assert_eq!(
        &out[9..],
        [0, 0, 8, PING, ACK, 0, 0, 0, 0, 7, 7, 7, 7, 7, 7, 7, 7]
    );
    let got = puts.response(&mut streams, &input[before..], &mut out);
    let expected = Progress::Complete {
        consumed: input.len() - before,
        verdict: Verdict::Expected,
    };
    assert_eq!(got, Ok(expected));
}

#[test]
fn trailers_without_a_message_are_a_failure() {
    let (mut puts, mut streams, mut out) = (puts(), Streams::default(), Vec::new());
    puts.request(&mut streams, &mut out);
    let mut input = Vec::new();
    frame(HEADERS, END_HEADERS | END_STREAM, 1, &[1], &mut input);
    let got = puts.response(&mut streams, &input, &mut out);
    let expected = Progress::Complete {
        consumed: input.len(),
        verdict: Verdict::Status(500),
    };
    assert_eq!(got, Ok(expected));
    input.clear();
    frame(GO_AWAY, 0, 0, &[0; 8], &mut input);
    assert!(puts.response(&mut streams, &input, &mut out).is_err());
}
