use super::*;

const WRITER: Origin = Origin::new(3, 0, 2);

fn upto(version: u64) -> Vector {
    [(WRITER, Version(version))].into_iter().collect()
}

#[test]
fn what_was_sent_on_is_not_pending_until_more_comes() {
    let copies = Copies::found(upto(5));
    assert_eq!(copies.pending(), upto(5));
    copies.done(upto(5).iter());
    assert!(copies.pending().is_empty());
    // The same again, from one who sends it on as well.
    copies.came(WRITER, Version(5));
    assert!(copies.pending().is_empty());
    copies.came(WRITER, Version(6));
    assert_eq!(copies.pending(), upto(6));
}
