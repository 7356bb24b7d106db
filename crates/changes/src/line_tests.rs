#![allow(clippy::unwrap_used)]
use dunlin_entry::Version;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::sample::entry;

fn all(outbox: &mut Outbox) -> Vec<u8> {
    let mut all = Vec::new();
    while !outbox.is_empty() {
        all.extend_from_slice(&outbox.take());
    }
    all
}

fn told(entry: &Entry) -> Value {
    let mut outbox = Outbox::default();
    Form::Lines.record(&mut outbox, entry, false, 1_000);
    let out = all(&mut outbox);
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_change_is_told_whole() {
    let stamp = "0000000000000006-0000004000000001";
    let of = |more: Value| {
        let mut all = json!({
            "event": "change", "partition": 12, "key": "k", "version": stamp, "rank": stamp,
        });
        all.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        all
    };
    let plain = entry(b"k", b"v");
    assert_eq!(told(&plain), of(json!({"value": "v"})));
    let binary = entry(b"k", b"\xff");
    assert_eq!(told(&binary), of(json!({"value_base64": "/w=="})));
    let large = "\u{1}x".repeat(LARGE_BYTES);
    assert_eq!(
        told(&entry(b"k", large.as_bytes())),
        of(json!({"value": large}))
    );
    let deleted = Entry {
        kind: Kind::Delete,
        ..plain.clone()
    };
    assert_eq!(told(&deleted), of(json!({"absent": "deleted"})));
    let rank = format!("{stamp}1");
    let ended = Entry {
        is_expiry: true,
        ..deleted
    };
    assert_eq!(told(&ended), of(json!({"absent": "expired", "rank": rank})));
    let of_time = |expiry_ms| Entry {
        expiry_ms: Some(expiry_ms),
        ..plain.clone()
    };
    let there = of(json!({"value": "v", "expires_at_ms": 1_001}));
    assert_eq!(told(&of_time(1_001)), there);
    assert_eq!(told(&of_time(1_000)), of(json!({"absent": "expired"})));
}

#[test]
fn what_many_are_told_is_told_as_what_one_is() {
    let ending = Entry {
        expiry_ms: Some(1_000),
        ..entry(b"k", b"v")
    };
    let large = entry(b"k", "a\nb".repeat(LARGE_BYTES).as_bytes());
    for entry in [entry(b"k", b"v"), ending, large] {
        let change = Change::new(entry.clone());
        let _held = change.clone();
        for now_ms in [999, 1_000] {
            for keys_only in [false, true, false] {
                for form in [Form::Lines, Form::Events, Form::Lines] {
                    let (mut many, mut one) = (Outbox::default(), Outbox::default());
                    form.change(&mut many, &change, keys_only, now_ms);
                    form.record(&mut one, &entry, keys_only, now_ms);
                    assert_eq!(all(&mut many), all(&mut one));
                }
            }
        }
    }
}

#[test]
fn a_server_sent_event_has_its_token_as_id() {
    let token = Token::new(1, 5, None, []);
    let mut out = BytesMut::new();
    Form::Events.progress(&mut out, Some(&token), Some(Version(0xab)));
    Form::Events.moved(&mut out, &[1, 65_535], "n2/0");
    let text = format!(
        "event: progress\nid: {token}\ndata: {{\"event\":\"progress\",\"token\":\"{token}\",\"deletes_forgotten\":\"00000000000000ab\"}}\n\n\
         event: moved\ndata: {{\"event\":\"moved\",\"partitions\":[1,65535],\"to\":\"n2/0\"}}\n\n"
    );
    assert_eq!(std::str::from_utf8(&out).unwrap(), text);
}

proptest! {
    #[test]
    fn any_text_is_read_as_it_was_told(key in ".*", value in ".*") {
        let told = told(&entry(key.as_bytes(), value.as_bytes()));
        prop_assert_eq!(&told["key"], &key);
        prop_assert_eq!(&told["value"], &value);
    }
}
