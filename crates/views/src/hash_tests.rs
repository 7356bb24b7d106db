use super::*;

#[test]
fn hashes_tell_bytes_and_their_borders_apart() {
    let all = [
        &[&b"ab"[..], b"c"][..],
        &[b"a", b"bc"],
        &[b"abc"],
        &[b"abc", b""],
    ];
    let hashes: std::collections::BTreeSet<u64> = all.iter().map(|parts| hash_of(parts)).collect();
    assert_eq!(hashes.len(), all.len());
}
