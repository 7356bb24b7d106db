#![allow(clippy::unwrap_used)]
use super::*;
use crate::sample::entry;

fn change(bytes: usize) -> Rc<Change> {
    Change::new(entry(b"", &vec![0; bytes]))
}

fn holder(total: &Rc<Total>) -> Holder {
    Holder {
        total: total.clone(),
        own: Rc::default(),
    }
}

#[test]
fn what_several_hold_counts_once() {
    let total = Rc::new(Total::default());
    let (a, b) = (holder(&total), holder(&total));
    let shared = change(1 << 20);
    let bytes = shared.bytes();
    let first = a.change(&shared).unwrap();
    let second = b.change(&shared).unwrap();
    assert_eq!(total.bytes(), bytes);
    let alone = b.bytes(100_000).unwrap();
    assert_eq!(total.bytes(), bytes + 100_000);
    assert_eq!(b.own.get(), bytes + 100_000);
    drop(first);
    assert_eq!((total.bytes(), a.own.get()), (bytes + 100_000, 0));
    drop((second, alone));
    assert_eq!((total.bytes(), b.own.get()), (0, 0));
    assert!(a.change(&change(100)).is_none());
}
