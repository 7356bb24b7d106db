use super::*;

#[test]
fn a_field_is_found_behind_others_of_every_kind() {
    let mut message = vec![0x08, 0x96, 0x01];
    message.extend_from_slice(&[0x11, 1, 2, 3, 4, 5, 6, 7, 8, 0x1d, 1, 2, 3, 4]);
    put_true(7, &mut message);
    put_bytes(4, 200, &mut message, |out| out.extend_from_slice(&[9; 200]));
    put_bytes(5, 1, &mut message, |out| out.push(7));
    assert_eq!(bytes(&message, 5), Some(&[7][..]));
    assert_eq!(bytes(&message, 4), Some(&[9; 200][..]));
    assert_eq!(bytes(&message, 6), None);
    assert_eq!(bytes(&message, 1), None, "a number is no bytes");
}

#[test]
fn what_is_cut_or_no_message_is_none() {
    let mut message = Vec::new();
    put_bytes(5, 3, &mut message, |out| out.extend_from_slice(b"abc"));
    for cut in 0..message.len() {
        assert_eq!(bytes(&message[..cut], 5), None, "{cut}");
    }
    for wrong in [&[0xff; 20][..], &[0x2b, 1], &[0x2a, 0xff, 0xff, 0xff]] {
        assert_eq!(bytes(wrong, 5), None, "{wrong:?}");
    }
}
