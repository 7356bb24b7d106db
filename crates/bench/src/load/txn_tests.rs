#![allow(clippy::unwrap_used)]
use super::super::key::{Choice, KeySet, Order};
use super::*;

#[test]
fn a_transaction_checks_and_writes_two_keys() {
    let order = Order::Sequential;
    let choice = Choice::Each { next: 0, end: 1 };
    let keys = Keys::new(KeySet { tag: b'p', order }, choice);
    let mut workload = TxnWorkload::new("ks", keys, Values::new(20));
    let (mut asked, mut out) = (Asked::default(), Vec::new());
    assert!(workload.request(&mut asked, &mut out));
    assert!(!workload.request(&mut asked, &mut Vec::new()));
    let text = String::from_utf8(out).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /v1/txn HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())));
    let told: serde_json::Value = serde_json::from_str(body).unwrap();
    for (number, key) in ["p000000000000000", "q000000000000000"].iter().enumerate() {
        let (check, write) = (&told["checks"][number], &told["writes"][number]);
        assert_eq!(
            (&check["key"], &check["exists"]),
            (&(*key).into(), &false.into())
        );
        let value = STANDARD
            .decode(write["value_base64"].as_str().unwrap())
            .unwrap();
        assert_eq!(write["key"], *key);
        assert!(value.starts_with(key.as_bytes()) && value.len() == 20);
    }
    let mut judge = |answer: &[u8]| {
        workload
            .response(&mut asked, answer, &mut Vec::new())
            .unwrap()
    };
    let done = |status: u16| format!("HTTP/1.1 {status} x\r\ncontent-length: 2\r\n\r\n{{}}");
    for (status, expected) in [(200, Verdict::Expected), (412, Verdict::Status(412))] {
        let told = judge(done(status).as_bytes());
        assert!(matches!(told, Progress::Complete { verdict, .. } if verdict == expected));
    }
    assert!(matches!(
        judge(b"HTTP/1.1 200"),
        Progress::Incomplete { .. }
    ));
}

#[test]
fn a_transaction_reads_a_key_and_writes_another() {
    let order = Order::Sequential;
    let choice = Choice::Each { next: 0, end: 1 };
    let keys = Keys::new(KeySet { tag: b'f', order }, choice);
    let mut workload = TxnWorkload::new("ks", keys, Values::new(20)).of_reads();
    let (mut next, mut out) = (Asked::default(), Vec::new());
    assert!(workload.request(&mut next, &mut out));
    let text = String::from_utf8(out).unwrap();
    let (_, body) = text.split_once("\r\n\r\n").unwrap();
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["reads"][0]["key"], "f000000000000000");
    assert_eq!(body["writes"][0]["key"], "q000000000000000");
    let value = body["writes"][0]["value_base64"].as_str().unwrap();
    assert_eq!(STANDARD.decode(value).unwrap().len(), 20);
    assert!(body.get("checks").is_none());
}
