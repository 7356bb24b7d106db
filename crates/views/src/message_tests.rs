#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn what_is_written_is_read() {
    let document = |value: &'static [u8], expiry_ms| Document {
        id: b"id",
        value,
        version: "0f".to_owned(),
        expiry_ms,
    };
    let documents = [document(b"1", None), document(b"", Some(7))];
    let Ok(Request::Documents(read)) = Request::decode(of_documents(&documents)) else {
        panic!()
    };
    let read: Vec<Document<'_>> = read.iter().map(OwnDocument::borrow).collect();
    assert_eq!(format!("{read:?}"), format!("{documents:?}"));
    let fold = Request::decode(of_fold("[1]", "[2]", true)).unwrap();
    assert!(matches!(fold, Request::Fold { is_again: true, keys, .. } if keys == "[1]"));
    for is_map in [true, false] {
        let source = Request::decode(of_source(is_map, "x")).unwrap();
        assert_eq!(matches!(source, Request::Map(_)), is_map);
    }

    let rows = vec![Emitted {
        key: vec![1, 0],
        value: "null".into(),
    }];
    let error = ScriptError {
        line: Some(3),
        message: "no".to_owned(),
    };
    let mut out = BytesMut::new();
    put_result(&mut out, Ok(rows.clone()), put_rows);
    put_result(&mut out, Err(error.clone()), put_rows);
    let mut body = out.freeze();
    assert_eq!(get_result(&mut body, get_rows), Ok(Ok(rows)));
    assert_eq!(get_result(&mut body, get_rows), Ok(Err(error)));
    assert!(body.is_empty());
}

#[test]
fn bytes_that_are_no_message_are_refused() {
    for bytes in [&b""[..], b"\x09", b"\x03\xff\0\0\0", b"\x04\x01\0\0\0a"] {
        assert_eq!(
            Request::decode(Bytes::copy_from_slice(bytes)),
            Err(Malformed)
        );
    }
    assert!(read(&mut &b""[..]).unwrap().is_none());
    assert!(read(&mut &[0xff; 8][..]).is_err());
    assert!(read(&mut &b"\x04\0\0\0ab"[..]).is_err());
    let mut out = Vec::new();
    write(&mut out, b"ab").unwrap();
    assert_eq!(read(&mut &out[..]).unwrap().unwrap(), "ab");
}
