#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn only_a_yes_drops() {
    let told = |is_person, answer: &str| asked(is_person, &mut answer.as_bytes()).is_ok();
    for answer in ["y\n", "Y\n", "yes\n", " y "] {
        assert!(told(true, answer), "{answer:?}");
        assert!(!told(false, answer), "{answer:?}");
    }
    for answer in ["", "\n", "n\n", "yellow\n", "no\ny\n"] {
        assert!(!told(true, answer), "{answer:?}");
    }
}
