#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn batch(indexes: std::ops::Range<Index>) -> Batch {
    indexes
        .map(|index| (index, Bytes::from(vec![index as u8; 10])))
        .collect()
}

fn indexes(batch: Option<Batch>) -> Vec<Index> {
    batch
        .unwrap_or_default()
        .into_iter()
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn what_one_read_another_finds_from_any_place_in_it() {
    let near = Rc::new(Near::default());
    let one = Reader::new(&near);
    near.was_read(&batch(1..5));
    assert_eq!(near.read(1, 100), None, "nobody else is there");
    let two = Reader::new(&near);
    near.was_read(&batch(5..9));
    assert_eq!(indexes(near.read(5, 100)), [5, 6, 7, 8]);
    assert_eq!(indexes(near.read(7, 100)), [7, 8]);
    assert_eq!(indexes(near.read(6, 20)), [6, 7]);
    assert_eq!(
        indexes(near.read(8, 1)),
        [8],
        "one is given whatever its size"
    );
    assert_eq!(near.read(9, 100), None);
    assert_eq!(near.read(4, 100), None);
    drop(one);
    assert_eq!(near.read(5, 100), None, "nothing is kept for one alone");
    drop(two);
}

#[test]
fn only_the_last_few_are_kept() {
    let near = Rc::new(Near::default());
    let _readers = [Reader::new(&near), Reader::new(&near)];
    let reads = READS_MAX as u64 + 1;
    for read in 0..reads {
        near.was_read(&batch(read * 2 + 1..read * 2 + 3));
    }
    assert_eq!(near.read(1, 100), None);
    assert_eq!(indexes(near.read(3, 100)), [3, 4]);
    assert_eq!(indexes(near.read(reads * 2, 100)), [reads * 2]);
}
