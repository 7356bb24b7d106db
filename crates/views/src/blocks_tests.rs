use super::*;

fn key(n: u8) -> Vec<u8> {
    vec![n]
}

fn sum(count: i64) -> Aggregate {
    let mut sum = Aggregate::default();
    sum.count = count;
    sum
}

fn put(blocks: &Blocks, begin: u8, end: u8, write: u64) {
    let stretch = (key(end - 1), key(end));
    blocks.put(1, key(begin), stretch, sum(begin.into()), write);
}

fn has(blocks: &Blocks, begin: u8, write: u64) -> bool {
    blocks.get(1, &key(begin), write).is_some()
}

#[test]
fn a_change_takes_away_the_stretch_that_it_is_in() {
    let blocks = Blocks::default();
    blocks.begin();
    put(&blocks, 10, 20, 0);
    put(&blocks, 20, 30, 0);
    put(&blocks, 30, 40, 0);
    blocks.change(1, Some(&[key(5), key(20), key(35), key(40)]));
    assert_eq!(
        [10, 20, 30].map(|n| has(&blocks, n, 1)),
        [true, false, false]
    );
    assert!(blocks.get(2, &key(10), 1).is_none(), "of other partitions");
}

#[test]
fn a_sum_is_given_to_those_alone_who_read_what_it_was_made_of() {
    let blocks = Blocks::default();
    blocks.begin();
    blocks.change(7, Some(&[key(15)]));
    // It was read before the change came.
    put(&blocks, 10, 20, 6);
    assert!(!has(&blocks, 10, 9));
    put(&blocks, 10, 20, 7);
    assert!(has(&blocks, 10, 7) && has(&blocks, 10, 9) && !has(&blocks, 10, 6));
    // A change elsewhere, or before, does not matter.
    blocks.change(8, Some(&[key(25)]));
    put(&blocks, 30, 40, 7);
    assert!(has(&blocks, 30, 8) && has(&blocks, 10, 8));
}

#[test]
fn what_is_not_remembered_is_not_trusted() {
    let blocks = Blocks::default();
    put(&blocks, 10, 20, 0);
    assert!(!has(&blocks, 10, 9), "nobody reads");
    blocks.change(3, None);
    blocks.begin();
    put(&blocks, 10, 20, 2);
    assert!(!has(&blocks, 10, 9), "write 3 may have changed it");
    put(&blocks, 10, 20, 3);
    assert!(has(&blocks, 10, 9));
    // A write whose keys were not collected.
    blocks.change(4, None);
    assert!(!has(&blocks, 10, 9));
    put(&blocks, 10, 20, 3);
    assert!(!has(&blocks, 10, 9));
    // More changes than are remembered.
    put(&blocks, 10, 20, 4);
    let many: Vec<Vec<u8>> = (0..=RECENT_MAX as u32)
        .map(|n| [&[50][..], &n.to_be_bytes()].concat())
        .collect();
    blocks.change(5, Some(&many));
    put(&blocks, 30, 40, 4);
    assert!(has(&blocks, 10, 5) && !has(&blocks, 30, 5));
    // Nobody reads any more.
    for write in 6..200 {
        blocks.change(write, Some(&many));
    }
    assert!(!blocks.is_used() && !has(&blocks, 10, 200));
}
