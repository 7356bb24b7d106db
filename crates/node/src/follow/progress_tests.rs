use super::*;

#[test]
fn the_rest_takes_as_long_for_each_part_as_what_is_done() {
    let s = Duration::from_secs;
    assert_eq!(left(s(10), 0, 5), None);
    assert_eq!(left(s(10), 5, 0), Some(s(0)));
    assert_eq!(left(s(10), 2, 6), Some(s(30)));
}
