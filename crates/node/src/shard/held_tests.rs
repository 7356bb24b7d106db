use futures_util::FutureExt;

use super::*;

#[test]
fn the_word_of_a_writers_last_start_counts() {
    let held = Held::default();
    let shard = ShardAddress { node: 2, shard: 0 };
    let said = |version| vec![(shard, Version(version))];
    let known = || held.told.borrow().get(&shard).cloned();
    held.told(Origin::new(2, 0, 3), Vec::new());
    assert_eq!((known(), held.changes()), (None, 0), "nothing said");
    held.told(Origin::new(2, 0, 3), said(7));
    assert_eq!(known(), Some((Origin::new(2, 0, 3), said(7))));
    held.told(Origin::new(2, 0, 2), said(9));
    assert_eq!(
        known(),
        Some((Origin::new(2, 0, 3), said(7))),
        "an earlier start"
    );
    held.told(Origin::new(2, 0, 3), said(5));
    assert_eq!(
        known(),
        Some((Origin::new(2, 0, 3), said(5))),
        "taken back by a replica that lost it"
    );
    held.told(Origin::new(2, 0, 4), said(1));
    assert_eq!(
        known(),
        Some((Origin::new(2, 0, 4), said(1))),
        "a later start"
    );
    assert_eq!(held.changes(), 3);
}

#[test]
fn own_entries_only_become_more() {
    let held = Held::default();
    held.has_own(Version(5));
    held.has_own(Version(4));
    assert_eq!((held.own.get(), held.changes()), (Version(5), 1));
}

#[test]
fn whoever_waits_hears_of_news() {
    let held = Held::default();
    let mut one = Box::pin(held.changed_since(0));
    let mut two = Box::pin(held.own_changed_since(0));
    assert_eq!((&mut one).now_or_never(), None);
    assert_eq!((&mut two).now_or_never(), None);
    assert_eq!(held.waiting.get(), 2);
    held.changed();
    assert_eq!((&mut one).now_or_never(), Some(()));
    assert_eq!((&mut two).now_or_never(), None);
    held.has_own(Version(3));
    assert_eq!((&mut two).now_or_never(), Some(()));
    // What came when nobody waited counts.
    assert_eq!(held.waiting.get(), 0);
    held.changed();
    assert_eq!(held.changed_since(2).now_or_never(), Some(()));
    let mut given_up = Box::pin(held.changed_since(held.changes()));
    assert_eq!((&mut given_up).now_or_never(), None);
    assert_eq!(held.waiting.get(), 1);
    drop(given_up);
    assert_eq!(held.waiting.get(), 0);
}
