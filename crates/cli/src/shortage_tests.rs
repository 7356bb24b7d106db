use super::*;

#[test]
fn what_is_missing_and_what_follows_is_said() {
    for (replicas, members, follows) in [
        (3, 3, None),
        (1, 1, None),
        (3, 4, None),
        (3, 1, Some("504")),
        (3, 0, None),
        (7, 3, Some("a majority is 4, so requests are answered 504")),
        (3, 2, Some("a majority is 2, so none of them may be away")),
        (5, 4, Some("copies missing: 1")),
    ] {
        let said = shortage("birds", replicas, members);
        assert_eq!(said.is_some(), follows.is_some(), "{said:?}");
        if let (Some(said), Some(follows)) = (said, follows) {
            assert!(said.contains(follows), "{said}");
            assert!(said.contains(&format!("--replicas {members}")), "{said}");
        }
    }
}
