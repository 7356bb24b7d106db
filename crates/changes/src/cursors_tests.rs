use super::*;

#[test]
fn a_damaged_record_is_named_and_hides_no_other() {
    let cursor = Cursor::new(7, "good/name", "token".to_owned(), 5, None);
    let value = serde_json::to_vec(&cursor).unwrap_or_default();
    assert_eq!(read_record(&key(7, "good/name"), &value), Ok(cursor));
    for wrong in [&b"{"[..], b"", b"{}", b"\xff"] {
        let found = read_record(&key(7, "torn"), wrong);
        let name = found.map_err(|damaged| damaged.name);
        assert_eq!(name, Err("torn".to_owned()), "{wrong:?}");
    }
}
