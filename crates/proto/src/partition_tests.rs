use super::partition_of;

/// What is stored lies where these say, and clients reckon so: it never changes.
#[test]
fn keys_stay_where_they_are() {
    let cases: [(&[u8], u16, u16); 6] = [
        (b"dunlin", 0, 0),
        (b"dunlin", 1, 0),
        (b"dunlin", 64, 17),
        (b"knot", 64, 5),
        (b"knot", 4096, 3845),
        (b"\xff", 7, 2),
    ];
    for (key, partitions, partition) in cases {
        let given = partition_of(key, partitions);
        assert_eq!(given, partition, "{key:?} of {partitions}");
    }
}
