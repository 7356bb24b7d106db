#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::{Choice, KeySet, Order};
use super::*;

const INFO: &[u8] = b"INFO {\"server_id\":\"N\",\"headers\":true} \r\n";

/// A connection of run 4 that has asked for its first key.
fn asked(verb: Verb) -> (NatsWorkload, Exchange, Vec<u8>) {
    let order = Order::Sequential;
    let choice = Choice::Each { next: 0, end: 2 };
    let keys = Keys::new(KeySet { tag: b'n', order }, choice);
    let mut workload = NatsWorkload::new(verb, keys, Values::new(3), 4);
    let (mut exchange, mut out) = (Exchange::default(), Vec::new());
    workload.greeting(&mut exchange, &mut out);
    assert!(workload.request(&mut exchange, &mut out));
    (workload, exchange, out)
}

fn verdict(verb: Verb, answer: &[u8]) -> Verdict {
    let (mut workload, mut exchange, _) = asked(verb);
    let input = [INFO, answer].concat();
    match workload.response(&mut exchange, &input, &mut Vec::new()) {
        Ok(Progress::Complete { consumed, verdict }) => {
            assert_eq!(consumed, input.len());
            verdict
        }
        other => panic!("{other:?}"),
    }
}

fn message(payload: &str) -> Vec<u8> {
    let length = payload.len();
    format!("MSG _INBOX.4.0.1 1 {length}\r\n{payload}\r\n").into_bytes()
}

fn with_headers(headers: &str, payload: &str) -> Vec<u8> {
    let (head, all) = (headers.len(), headers.len() + payload.len());
    format!("HMSG _INBOX.4.0.1 1 {head} {all}\r\n{headers}{payload}\r\n").into_bytes()
}

#[test]
fn a_put_is_published_with_an_inbox_of_its_own() {
    let (mut workload, mut exchange, mut out) = asked(Verb::Put);
    let wanted = "SUB _INBOX.4.0.* 1\r\nPUB $KV.bench.n000000000000000 _INBOX.4.0.1 3\r\nn00\r\n";
    assert_eq!(String::from_utf8_lossy(&out), format!("{CONNECT}{wanted}"));
    // A connection that was opened again is another one.
    out.clear();
    workload.greeting(&mut exchange, &mut out);
    assert!(workload.request(&mut exchange, &mut out));
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains("SUB _INBOX.4.1.* 1\r\n"), "{text}");
    assert!(text.contains(" _INBOX.4.1.2 3\r\n"), "{text}");
    assert!(!workload.request(&mut exchange, &mut out), "two keys only");
}

#[test]
fn a_get_asks_any_replica_directly() {
    let (_, _, out) = asked(Verb::Get);
    let wanted =
        "PUB $JS.API.DIRECT.GET.KV_bench.$KV.bench.n000000000000000 _INBOX.4.0.1 0\r\n\r\n";
    assert!(String::from_utf8_lossy(&out).ends_with(wanted));
}

#[test]
fn only_the_stream_that_says_it_stored_a_put_makes_it_one() {
    for (payload, wanted) in [
        (r#"{"stream":"KV_bench", "seq":7}"#, Verdict::Expected),
        (
            r#"{"stream":"KV_bench","domain":"d","seq":7}"#,
            Verdict::Expected,
        ),
        (
            r#"{"error":{"code":503,"err_code":10077,"description":"no"},"stream":"KV_bench","seq":0}"#,
            Verdict::Status(503),
        ),
        (
            r#"{"stream":"KV_bench","seq":7,"error":{}}"#,
            Verdict::Status(0),
        ),
        (
            r#"{"stream":"KV_bench","seq":7,"duplicate":true}"#,
            Verdict::WrongBody,
        ),
        (r#"{"stream":"KV_bench","seq":0}"#, Verdict::WrongBody),
        (r#"{"stream":"OTHER","seq":7}"#, Verdict::WrongBody),
        ("{}", Verdict::WrongBody),
        ("+OK", Verdict::WrongBody),
        ("", Verdict::WrongBody),
    ] {
        assert_eq!(verdict(Verb::Put, &message(payload)), wanted, "{payload}");
    }
    let nobody = with_headers("NATS/1.0 503\r\n\r\n", "");
    assert_eq!(verdict(Verb::Put, &nobody), Verdict::Status(503));
}

#[test]
fn only_the_value_itself_is_the_answer_to_a_get() {
    let found = "NATS/1.0\r\nNats-Stream: KV_bench\r\nNats-Sequence: 7\r\n\r\n";
    for (answer, wanted) in [
        (with_headers(found, "n00"), Verdict::Expected),
        (with_headers(found, "n01"), Verdict::WrongBody),
        (with_headers(found, ""), Verdict::WrongBody),
        (message("n00"), Verdict::WrongBody),
        (message(r#"{"error":{"code":404}}"#), Verdict::WrongBody),
        (
            with_headers("NATS/1.0 404 Message Not Found\r\n\r\n", ""),
            Verdict::Status(404),
        ),
        (
            with_headers("NATS/1.0 408 Bad Request\r\n\r\n", "n00"),
            Verdict::Status(408),
        ),
    ] {
        let text = String::from_utf8_lossy(&answer).into_owned();
        assert_eq!(verdict(Verb::Get, &answer), wanted, "{text}");
    }
}

#[test]
fn pings_are_answered_and_what_belongs_to_no_request_is_refused() {
    let (mut workload, mut exchange, _) = asked(Verb::Put);
    let mut out = Vec::new();
    let input = [INFO, b"PING\r\nMSG _INBOX.4.0.1 1 9\r\n{\"str"].concat();
    let got = workload.response(&mut exchange, &input, &mut out);
    let consumed = INFO.len() + 6;
    assert_eq!(got, Ok(Progress::Incomplete { consumed }));
    assert_eq!(out, b"PONG\r\n");
    for wrong in [
        &b"MSG _INBOX.4.0.2 1 0\r\n\r\n"[..],
        b"MSG _INBOX.4.1.1 1 0\r\n\r\n",
        b"-ERR 'Unknown Protocol Operation'\r\n",
        b"-ERR\r\n",
    ] {
        let got = workload.response(&mut exchange, wrong, &mut Vec::new());
        assert!(got.is_err(), "{got:?}");
    }
}
