#![allow(clippy::unwrap_used)]
use super::*;

fn all(outbox: &mut Outbox) -> (Vec<u8>, usize) {
    let (mut sent, mut largest) = (Vec::new(), 0);
    loop {
        let piece = outbox.take();
        if piece.is_empty() {
            return (sent, largest);
        }
        largest = largest.max(piece.len());
        sent.extend_from_slice(&piece);
    }
}

#[test]
fn a_large_value_goes_out_in_pieces() {
    let text: String = "a\u{1}\"\u{e4}\\\n".repeat(40_000);
    let mut outbox = Outbox::default();
    outbox.buffer().put_slice(b"[\"");
    outbox.large(&Bytes::from(text.clone()), true);
    outbox.buffer().put_slice(b"\",\"");
    let binary = Bytes::from(vec![0xff; 100_001]);
    outbox.large(&binary, false);
    outbox.buffer().put_slice(b"\"]");
    let (sent, largest) = all(&mut outbox);
    assert!(largest < 2 * PIECE_BYTES, "{largest}");
    assert!(outbox.is_empty());
    let read: (String, String) = serde_json::from_slice(&sent).unwrap();
    assert_eq!(read.0, text);
    assert_eq!(STANDARD.decode(read.1).unwrap(), binary);
}

#[test]
fn small_lines_keep_their_order_and_are_cut_anywhere() {
    let mut outbox = Outbox::default();
    let lines: Vec<u8> = (0..200_000_u32).map(|n| (n % 251) as u8).collect();
    outbox.buffer().put_slice(&lines);
    assert!(outbox.is_full());
    let (sent, largest) = all(&mut outbox);
    assert_eq!((sent == lines, largest), (true, PIECE_BYTES));
    assert!(outbox.take().is_empty());
}
