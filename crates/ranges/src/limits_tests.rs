use super::*;

#[test]
fn a_transaction_above_a_limit_is_told_which() {
    let limits = Limits {
        keys: 2,
        bytes: 10,
        ..Limits::default()
    };
    assert_eq!(limits.admit(2, 10), Ok(()));
    let line = |keys, bytes| limits.admit(keys, bytes).err().unwrap_or_default();
    assert!(line(3, 0).contains("at most 2 keys (setting txn keys), this one 3"));
    assert!(line(0, 11).contains("at most 10 bytes (setting txn bytes), this one 11"));
}

#[test]
fn limits_that_cannot_be_kept_are_refused_by_name() {
    let with = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits.check()
    };
    assert_eq!(with(|_| {}), Ok(()));
    assert_eq!(
        with(|limits| limits.retention = limits.time + SPARE),
        Ok(())
    );
    type Change = fn(&mut Limits);
    let cases: [(Change, &str); 10] = [
        (|limits| limits.keys = 0, "txn keys"),
        (|limits| limits.keys = KEYS_MAX + 1, "txn keys"),
        (|limits| limits.bytes = 1_000, "txn bytes"),
        (|limits| limits.bytes = BYTES_MAX + 1, "txn bytes"),
        (|limits| limits.read_bytes = 1_000, "txn read bytes"),
        (
            |limits| limits.read_bytes = READ_BYTES_MAX + 1,
            "txn read bytes",
        ),
        (|limits| limits.idle = Duration::ZERO, "txn idle"),
        (|limits| limits.time = Duration::ZERO, "txn time"),
        (|limits| limits.time = Duration::MAX, "txn time"),
        (|limits| limits.retention = limits.time, "txn retention"),
    ];
    for (change, part) in cases {
        let line = with(change).err().unwrap_or_default();
        assert!(line.contains(part), "{part}: {line:?}");
    }
}
