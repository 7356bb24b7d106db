use super::*;

#[test]
fn the_exit_code_says_equal_different_or_not_known() {
    let of = |different: u64, repaired, not_known| {
        let verified = LinkVerified {
            differences: [(Difference::MissingThere, different)].into(),
            repaired,
            not_known,
            ..LinkVerified::default()
        };
        result(&verified)
            .err()
            .map_or(0, |failure| failure.exit_code())
    };
    assert_eq!(of(0, 0, 0), 0);
    assert_eq!(of(2, 0, 0), 1);
    assert_eq!(of(2, 1, 0), 1);
    assert_eq!(of(2, 2, 0), 0);
    assert_eq!(of(0, 0, 1), 3);
    assert_eq!(of(1, 0, 1), 1);
}
