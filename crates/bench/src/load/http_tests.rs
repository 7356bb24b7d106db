#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::Order;
use super::*;

fn workload(verb: Verb, copies: Copies) -> HttpWorkload {
    let keys = KeySet {
        tag: b'p',
        order: Order::Sequential,
    };
    let choice = Choice::Each { next: 1, end: 2 };
    HttpWorkload::new(verb, copies, keys, choice, Values::new(20))
}

#[test]
fn a_put_carries_key_copies_and_value() {
    let mut put = workload(Verb::Put, THREE_COPIES);
    let (mut asked, mut out) = (Asked::default(), Vec::new());
    assert!(put.request(&mut asked, &mut out));
    let head = b"PUT /v0/entity?id=p000000000000001&ack=2&from=3 HTTP/1.1\r\nHost: bench\r\nContent-Length: 20\r\n\r\n";
    assert_eq!(&out[..head.len()], head);
    assert_eq!(out.len(), head.len() + 20);
    assert!(!put.request(&mut asked, &mut out), "one key only");
    let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
    let expected = Progress::Complete {
        consumed: answer.len(),
        verdict: Verdict::Expected,
    };
    assert_eq!(put.response(&mut asked, answer, &mut out), Ok(expected));
}

#[test]
fn a_get_checks_status_and_every_byte() {
    let mut get = workload(Verb::Get, ONE_COPY);
    let (mut asked, mut out) = (Asked::default(), Vec::new());
    assert!(get.request(&mut asked, &mut out));
    let head =
        b"GET /v1/keyspaces/one-copy/keys/p000000000000001?ack=1&from=1 HTTP/1.1\r\nHost: bench\r\n\r\n";
    assert_eq!(out, head);
    let mut body = Vec::new();
    Values::new(20).append(&asked.key, 1, &mut body);
    let answer = |status: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    let good = answer("200 OK", &body);
    for cut in 0..good.len() {
        let got = get.response(&mut asked, &good[..cut], &mut out);
        assert_eq!(got, Ok(Progress::Incomplete { consumed: 0 }), "{cut}");
    }
    let mut judge = |bytes: &[u8]| match get.response(&mut asked, bytes, &mut out) {
        Ok(Progress::Complete { verdict, .. }) => verdict,
        other => panic!("{other:?}"),
    };
    assert_eq!(judge(&good), Verdict::Expected);
    assert_eq!(judge(&answer("404 Not Found", b"")), Verdict::Status(404));
    body[18] ^= 1;
    assert_eq!(judge(&answer("200 OK", &body)), Verdict::WrongBody);
    assert_eq!(judge(&answer("200 OK", &body[..19])), Verdict::WrongBody);
}
