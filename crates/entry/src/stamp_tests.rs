#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn fields_survive_packing() {
    let version = Version::new(1_700_000_000_123, 0xfffe);
    assert_eq!(
        (version.millis(), version.counter()),
        (1_700_000_000_123, 0xfffe)
    );
    let origin = Origin::new(0xffe, 7, u32::MAX);
    assert_eq!(
        (origin.node(), origin.shard(), origin.incarnation()),
        (0xffe, 7, u32::MAX)
    );
}

#[test]
fn a_time_past_48_bits_does_not_wrap() {
    assert!(Version::new(u64::MAX, 0) > Version::new(Version::MAX_MILLIS - 1, u16::MAX));
}

#[test]
fn version_decides_before_origin() {
    let early = Stamp::new(Version(1), Origin(9));
    let late = Stamp::new(Version(2), Origin(1));
    let tie = Stamp::new(Version(2), Origin(2));
    assert!(early < late && late < tie);
}

#[test]
fn text_round_trips_and_sorts() {
    let a = Stamp::new(Version(0xab), Origin(u64::MAX));
    let b = Stamp::new(Version(0xac), Origin(0));
    assert_eq!(a.to_string(), "00000000000000ab-ffffffffffffffff");
    assert_eq!(a.to_string().parse::<Stamp>(), Ok(a));
    assert!(a.to_string() < b.to_string());
}

#[test]
fn other_text_is_refused() {
    for text in [
        "",
        "-",
        "ab-cd",
        "+0000000000000ab-ffffffffffffffff",
        "00000000000000ab-fffffffffffffff",
        "00000000000000abffffffffffffffff",
        "00000000000000ag-ffffffffffffffff",
        "00000000000000ab-ffffffffffffffff-",
    ] {
        assert_eq!(text.parse::<Stamp>(), Err(ParseStampError), "{text}");
    }
}
