#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::load::key::{KEY_LENGTH, KeySet, Order};
use crate::load::value::Values;

fn ledger(count: u64) -> Ledger {
    let keys = KeySet {
        tag: b'm',
        order: Order::Random,
    };
    Ledger::new(keys, Values::new(64), count)
}

fn answer(status: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// The body of a request of this head's length.
fn body(request: &[u8]) -> &[u8] {
    let end = request.windows(4).position(|four| four == b"\r\n\r\n");
    &request[end.unwrap() + 4..]
}

fn verdict<P: Protocol>(protocol: &mut P, asked: &mut P::Exchange, answer: &[u8]) -> Verdict {
    match protocol.response(asked, answer, &mut Vec::new()) {
        Ok(Progress::Complete { consumed, verdict }) => {
            assert_eq!(consumed, answer.len());
            verdict
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn half_are_reads_and_each_must_bring_the_last_write() {
    let is_over = Arc::new(AtomicBool::new(false));
    let mut mixed = Mixed::new(ledger(4), 64, 7, is_over.clone());
    let mut stored: Vec<Vec<u8>> = (0..4)
        .map(|number| {
            let mut value = Vec::new();
            mixed.ledger.append(number, 0, &mut value);
            value
        })
        .collect();
    let first = stored.clone();
    let (mut reads, mut outdated) = (0, 0);
    for _ in 0..1_000 {
        let (mut asked, mut request) = (Asked::default(), Vec::new());
        assert!(mixed.request(&mut asked, &mut request));
        let at = asked.number as usize;
        assert!(
            request
                .windows(KEY_LENGTH)
                .any(|w| w == mixed.ledger.key(asked.number))
        );
        if request.starts_with(b"PUT") {
            stored[at] = body(&request).to_vec();
            let said = verdict(&mut mixed, &mut asked, &answer("201 Created", b""));
            assert_eq!(said, Verdict::Expected);
            continue;
        }
        reads += 1;
        let old = verdict(&mut mixed, &mut asked, &answer("200 OK", &first[at]));
        outdated += u32::from(old == Verdict::WrongBody);
        assert_eq!(old == Verdict::Expected, first[at] == stored[at]);
        let now = verdict(&mut mixed, &mut asked, &answer("200 OK", &stored[at]));
        assert_eq!(now, Verdict::Expected);
        let gone = verdict(&mut mixed, &mut asked, &answer("404 Not Found", b""));
        assert_eq!(gone, Verdict::Status(404));
    }
    assert!(
        (400..600).contains(&reads) && outdated > 300,
        "{reads} {outdated}"
    );
    is_over.store(true, Ordering::Relaxed);
    assert!(mixed.is_over() && !mixed.request(&mut Asked::default(), &mut Vec::new()));
    assert_eq!(mixed.into_ledger().writes(), 1_000 - reads);
}

#[test]
fn keys_are_read_back_each_once_or_some() {
    let mut few = ledger(5);
    let write = few.begin_write(3).unwrap();
    few.end_write(3, write, true);
    let mut all = ReadBack::new(&few, 10);
    let (mut number, mut out) = (0, Vec::new());
    let mut seen = Vec::new();
    while all.request(&mut number, &mut out) {
        let mut value = Vec::new();
        few.append(number, 0, &mut value);
        let said = verdict(&mut all, &mut number, &answer("200 OK", &value));
        assert_eq!(said == Verdict::Expected, number != 3, "3 was overwritten");
        seen.push(number);
    }
    assert_eq!(seen, [0, 1, 2, 3, 4]);
    let many = ledger(1_000);
    let mut some = ReadBack::new(&many, 10);
    let asked = (0..).take_while(|_| some.request(&mut number, &mut out));
    assert_eq!(asked.count(), 10);
}
