#![allow(clippy::unwrap_used, clippy::expect_used)]
use rocksdb::{DB, Options};

use super::*;

#[test]
fn a_whole_blob_file_is_whole_and_a_flipped_byte_anywhere_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_enable_blob_files(true);
    options.set_min_blob_size(0);
    let db = DB::open(&options, directory.path()).unwrap();
    for number in 0..100u32 {
        db.put(number.to_be_bytes(), vec![number as u8; number as usize])
            .unwrap();
    }
    db.flush().unwrap();
    drop(db);
    let blobs: Vec<_> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "blob")
        })
        .collect();
    assert_eq!(blobs.len(), 1);
    let path = &blobs[0];
    check(path).unwrap();
    let whole = std::fs::read(path).unwrap();
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x40;
        std::fs::write(path, &flipped).unwrap();
        // Column family, flags and expiration in the header have no checksum.
        assert_eq!(check(path).is_ok(), (8..30).contains(&at), "byte {at}");
    }
    for length in [0, 29, 31, whole.len() / 2, whole.len() - 1] {
        std::fs::write(path, &whole[..length]).unwrap();
        assert!(check(path).is_err(), "{length} bytes");
    }
}
