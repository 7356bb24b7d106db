#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn opening_the_cluster_needs_a_yes() {
    for (is_person, answer, does) in [
        (true, "y\n", true),
        (true, "yes\n", true),
        (true, "\n", false),
        (true, "n\n", false),
        (true, "", false),
        (false, "y\n", false),
    ] {
        let done = asked(is_person, &mut answer.as_bytes()).is_ok();
        assert_eq!(done, does, "{is_person} {answer:?}");
    }
}
