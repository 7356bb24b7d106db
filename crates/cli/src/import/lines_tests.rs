#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use proptest::prelude::*;
use std::io::BufReader;

fn read(input: &[u8], limit: usize, buffer_bytes: usize) -> Vec<Option<Vec<u8>>> {
    let mut lines = Lines::new(BufReader::with_capacity(buffer_bytes, input), limit);
    let (mut all, mut buffer) = (Vec::new(), Vec::new());
    loop {
        match lines.next(&mut buffer).unwrap() {
            Line::Read => all.push(Some(buffer.clone())),
            Line::TooLong => all.push(None),
            Line::End => break,
        }
        assert_eq!(lines.number(), all.len() as u64);
    }
    all
}

#[test]
fn both_line_ends_and_a_last_line_without_one() {
    let lines = read(b"a\r\n\n\r\nb\rc\nlast", 10, 3);
    let expected: Vec<&[u8]> = vec![b"a", b"", b"", b"b\rc", b"last"];
    assert_eq!(
        lines.into_iter().map(Option::unwrap).collect::<Vec<_>>(),
        expected
    );
    assert!(read(b"", 10, 3).is_empty());
}

#[test]
fn a_long_line_is_passed_over_and_not_kept() {
    assert_eq!(
        read(b"12345\r\n123456\nab\n", 5, 2),
        [Some(b"12345".to_vec()), None, Some(b"ab".to_vec())]
    );
    let mut lines = Lines::new(
        BufReader::new(io::Read::take(io::repeat(b'x'), 50 << 20)),
        1 << 10,
    );
    let mut buffer = Vec::new();
    assert_eq!(lines.next(&mut buffer).unwrap(), Line::TooLong);
    assert!(
        buffer.capacity() < 1 << 16,
        "kept {} bytes",
        buffer.capacity()
    );
    assert_eq!(lines.next(&mut buffer).unwrap(), Line::End);
}

proptest! {
    #[test]
    fn what_is_read_does_not_depend_on_buffers(input in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'\r'), any::<u8>()], 0..200), limit in 0usize..20, size in 1usize..50) {
        prop_assert_eq!(read(&input, limit, size), read(&input, limit, 1 << 16));
    }
}
