#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn flags_win_over_the_table_and_the_table_over_defaults() {
    let table = TxnTable {
        keys: Some(7),
        time: Some(Delay(5_000)),
        ..TxnTable::default()
    };
    let flags = TxnFlags {
        keys: Some(9),
        bytes: Some(Size(2_048)),
        ..TxnFlags::default()
    };
    let told = limits(flags, table).unwrap();
    let expected = Limits {
        keys: 9,
        bytes: 2_048,
        time: Duration::from_secs(5),
        ..Limits::default()
    };
    assert_eq!(told, expected);
    assert_eq!(
        limits(TxnFlags::default(), TxnTable::of(&told)).unwrap(),
        told
    );
    let short = TxnFlags {
        retention: Some(Delay(60_000)),
        ..TxnFlags::default()
    };
    let line = limits(short, TxnTable::default()).unwrap_err().to_string();
    assert!(
        line.contains("txn retention must be longer than txn time"),
        "{line}"
    );
}
