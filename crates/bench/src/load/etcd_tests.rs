#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::super::key::{Choice, KeySet, Order};
use super::*;

const ALL: [EtcdRequest; 3] = [
    EtcdRequest::Put,
    EtcdRequest::Linearizable,
    EtcdRequest::Serializable,
];

fn workload(request: EtcdRequest) -> EtcdWorkload {
    let order = Order::Sequential;
    let choice = Choice::Each { next: 0, end: 1 };
    let keys = Keys::new(KeySet { tag: b'e', order }, choice);
    EtcdWorkload::new(request, keys, Values::new(200))
}

/// Its one request, and what an answer with this message would be taken for.
fn judged(request: EtcdRequest, message: &[u8]) -> (Vec<u8>, Verdict) {
    let (mut workload, mut exchange, mut out) = (workload(request), Exchange::default(), vec![]);
    assert!(workload.request(&mut exchange, &mut out));
    assert!(!workload.request(&mut exchange, &mut Vec::new()));
    let verdict = workload.judge(&exchange.asked, Some(message));
    (out, verdict)
}

fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    protobuf::put_bytes(number, bytes.len(), &mut out, |out| {
        out.extend_from_slice(bytes);
    });
    out
}

#[test]
fn a_request_has_its_key_and_what_belongs_to_it() {
    let [put, linearizable, serializable] = ALL.map(|request| judged(request, &[]).0);
    let key = field(1, b"e000000000000000");
    let value = {
        let mut value = Vec::new();
        Values::new(200).append(b"e000000000000000", 0, &mut value);
        value
    };
    assert!(put.ends_with(&[key.clone(), field(2, &value)].concat()));
    assert!(linearizable.ends_with(&key));
    assert!(serializable.ends_with(&[key, vec![0x38, 1]].concat()));
}

#[test]
fn only_the_value_itself_is_the_answer_to_a_read() {
    let header = field(1, &[8, 1]);
    let found = |value: &[u8]| {
        let pair = [field(1, b"e000000000000000"), field(5, value)].concat();
        [header.clone(), field(2, &pair), vec![0x20, 1]].concat()
    };
    let mut value = Vec::new();
    Values::new(200).append(b"e000000000000000", 0, &mut value);
    for read in [EtcdRequest::Linearizable, EtcdRequest::Serializable] {
        assert_eq!(judged(read, &found(&value)).1, Verdict::Expected);
        assert_eq!(judged(read, &found(&value[1..])).1, Verdict::WrongBody);
        assert_eq!(judged(read, &header).1, Verdict::Status(404));
        assert_eq!(judged(read, b"").1, Verdict::WrongBody);
    }
    assert_eq!(judged(EtcdRequest::Put, &header).1, Verdict::Expected);
    assert_eq!(judged(EtcdRequest::Put, b"").1, Verdict::WrongBody);
}

#[test]
fn a_call_that_failed_has_no_message() {
    for request in ALL {
        let (mut workload, mut exchange) = (workload(request), Exchange::default());
        workload.greeting(&mut exchange, &mut Vec::new());
        assert!(workload.request(&mut exchange, &mut Vec::new()));
        // Trailers at once: headers that end headers and stream.
        let input = [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88];
        for cut in 0..input.len() {
            let got = workload.response(&mut exchange, &input[..cut], &mut Vec::new());
            assert_eq!(got, Ok(Progress::Incomplete { consumed: 0 }));
        }
        let got = workload.response(&mut exchange, &input, &mut Vec::new());
        let verdict = Verdict::Status(500);
        let consumed = input.len();
        assert_eq!(got, Ok(Progress::Complete { consumed, verdict }));
    }
}

#[test]
fn a_transaction_reads_a_key_and_writes_another() {
    let header = field(1, &[8, 1]);
    let (sent, failed) = judged(EtcdRequest::GetAndPut, &header);
    let mut value = Vec::new();
    Values::new(200).append(b"q000000000000000", 0, &mut value);
    let get = field(2, &field(1, &field(1, b"e000000000000000")));
    let put = [field(1, b"q000000000000000"), field(2, &value)].concat();
    let put = field(2, &field(2, &put));
    assert!(sent.ends_with(&[get, put].concat()));
    assert_eq!(failed, Verdict::Status(412));
    let done = [header, field(3, b"")].concat();
    assert_eq!(judged(EtcdRequest::GetAndPut, &done).1, Verdict::Expected);
}
