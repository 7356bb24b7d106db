#![allow(clippy::unwrap_used)]
use dunlin_entry::{Origin, Version};

use super::*;

fn item(key: &str, value: &str, replaces: Option<Replaces>) -> Item {
    Item {
        key: key.to_owned().into(),
        stamp: Stamp::new(Version(7), Origin(1)),
        from: 3,
        tombstone: value.is_empty(),
        is_expiry: false,
        expiry_ms: (key == "b").then_some(9),
        replaces,
        logged: None,
        value: value.to_owned().into(),
    }
}

fn items() -> Vec<Item> {
    let replaces = Replaces {
        stamp: Stamp::new(Version(99), Origin(2)),
        is_mend: true,
    };
    vec![
        item("a", "one", None),
        item("b", "", None),
        item("c", "three", Some(replaces)),
    ]
}

fn run() -> Run {
    let mut run = RunBuilder::default();
    items().iter().for_each(|item| run.push(item.by_ref()));
    run.finish()
}

fn bytes(run: &Run) -> Bytes {
    let mut out = BytesMut::new();
    run.encode(&mut out);
    out.freeze()
}

#[test]
fn a_run_has_the_bytes_of_a_page() {
    let page = Page {
        items: items(),
        next: None,
        life: None,
        cost: None,
    };
    let mut out = BytesMut::new();
    page.encode(&mut out);
    // Behind the byte that says that there is no next key.
    assert_eq!(bytes(&run()), &out[1..]);
}

#[test]
fn a_run_has_the_items_that_it_was_made_of() {
    let run = Run::decode(bytes(&run())).unwrap();
    assert_eq!(run.count(), 3);
    let read: Result<Vec<Item>, _> = run.items().collect();
    assert_eq!(read.unwrap(), items());
}

#[test]
fn what_a_later_build_adds_behind_a_run_is_not_read() {
    let mut longer = BytesMut::from(&bytes(&run())[..]);
    longer.put_slice(b"more");
    let run = Run::decode(longer.freeze()).unwrap();
    assert_eq!(run.items().filter(Result::is_ok).count(), 3);
    assert!(run.items().all(|item| item.is_ok()));
}

#[test]
fn a_run_that_is_cut_anywhere_ends_with_an_error() {
    let whole = bytes(&run());
    for length in 0..whole.len() {
        let cut = Run::decode(whole.slice(..length));
        let read = cut.and_then(|run| run.items().collect::<Result<Vec<_>, _>>());
        assert!(read.is_err(), "cut to {length} bytes");
    }
}

#[test]
fn a_count_that_cannot_be_is_refused_before_anything_is_read() {
    let mut lying = BytesMut::from(&bytes(&run())[..]);
    lying[..4].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(Run::decode(lying.freeze()).is_err());
}
