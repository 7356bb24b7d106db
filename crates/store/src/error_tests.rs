#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn the_damaged_file_is_found_in_rocksdb_messages() {
    let root = Path::new("/data/shard-0");
    for (detail, name) in [
        (
            "Corruption: block checksum mismatch: stored = 1, computed = 2, type = 4  in /data/shard-0/000012.sst offset 0 size 999",
            "/data/shard-0/000012.sst",
        ),
        (
            "Corruption: Can't access /000007.sst: IO error: No such file or directory",
            "/data/shard-0/000007.sst",
        ),
        (
            "Corruption: checksum mismatch in file /data/shard-0/MANIFEST-000005",
            "/data/shard-0/MANIFEST-000005",
        ),
        (
            "Corruption: CURRENT file does not end with newline",
            "/data/shard-0/CURRENT",
        ),
        ("Corruption: something else", "/data/shard-0"),
    ] {
        assert_eq!(damaged_file(root, detail), Path::new(name), "{detail}");
    }
}
