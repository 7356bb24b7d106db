use super::*;

const fn v(version: u64) -> Version {
    Version(version)
}

#[test]
fn what_nobody_has_any_more_is_not_waited_for() {
    let (gone, emptied, whole) = (
        Origin::new(3, 0, 2),
        Origin::new(4, 0, 2),
        Origin::new(1, 0, 5),
    );
    let marks: Vector = [(gone, v(90)), (emptied, v(80)), (whole, v(70))]
        .into_iter()
        .collect();
    // Node 3 is gone for good and left out of what the living tell; node 4 lost its disk, and
    // others have some of what it wrote; node 1 has gone on, and nothing later is waited for.
    let held: Vector = [(emptied, v(60)), (whole, v(75))].into_iter().collect();
    let left = still_held(&marks, &held);
    assert_eq!(left.get(gone), v(0));
    assert_eq!(left.get(emptied), v(60));
    assert_eq!(left.get(whole), v(70));
    // What was lowered stays so: what the emptied node writes from then on is no part of it.
    let later: Vector = [(emptied, v(99)), (whole, v(99))].into_iter().collect();
    assert_eq!(still_held(&left, &later).get(emptied), v(60));
}
