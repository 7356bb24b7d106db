use super::{TAILS, is_above_tails};

const TAIL: usize = 1 << 20;

#[test]
fn tails_that_stay_cause_no_flush() {
    let is_due = |bytes: &[usize]| is_above_tails(bytes.iter().copied(), TAIL);
    assert!(!is_due(&[]));
    // As many full tails as there may be: a flush would not make them shorter.
    assert!(!is_due(&[TAIL; 300]));
    assert!(!is_due(&[TAIL + TAIL / 100; 300]));
    assert!(is_due(&[TAIL + TAIL / 10; 300]));
    assert!(!is_due(&[TAIL * TAILS]));
    assert!(is_due(&[TAIL * (TAILS + 1)]));
}
