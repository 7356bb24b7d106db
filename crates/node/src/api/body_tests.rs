use super::*;

#[test]
fn memory_grows_with_what_arrives() {
    const MIB: usize = 1 << 20;
    for (capacity, need, most, wanted) in [
        // The announced length is what it ends with, not what it begins with.
        (0, 1, 16 * MIB, FIRST_BYTES),
        (0, 1, 100, 100),
        (0, 100, 100, 100),
        (FIRST_BYTES, FIRST_BYTES, 16 * MIB, FIRST_BYTES),
        (FIRST_BYTES, FIRST_BYTES + 1, 16 * MIB, 2 * FIRST_BYTES),
        (MIB, 5 * MIB, 16 * MIB, 5 * MIB),
        (9 * MIB, 10 * MIB, 16 * MIB, 16 * MIB),
        // More than was announced cannot come; if it does, it has room.
        (100, 101, 100, 101),
    ] {
        assert_eq!(
            grown(capacity, need, most),
            wanted,
            "{capacity} {need} {most}"
        );
    }
}
