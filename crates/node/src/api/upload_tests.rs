use super::*;

#[test]
fn only_a_little_of_what_nobody_wants_is_read() {
    for (is_over, is_held_back, bytes_most, what) in [
        (true, false, Some(0), Left::Nothing),
        (true, true, None, Left::Nothing),
        (false, false, Some(1), Left::Little),
        (false, false, Some(LITTLE_BYTES), Left::Little),
        (false, false, Some(LITTLE_BYTES + 1), Left::Much),
        // Chunked: nobody knows.
        (false, false, None, Left::Much),
        // It waits for word and may send or not.
        (false, true, Some(1), Left::Much),
        (false, true, None, Left::Much),
    ] {
        assert_eq!(
            left(is_over, is_held_back, bytes_most),
            what,
            "{is_over} {is_held_back} {bytes_most:?}"
        );
    }
}
