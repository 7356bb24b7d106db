#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn cuts_lose_what_lies_behind_them_and_nothing_else() {
    for (key_bytes, value_bytes) in [(16, 16), (16, 1024), (1024, 4096), (1024, 8192)] {
        let entry = Entry {
            key_bytes,
            value_bytes,
        };
        for policy in [Policy::Fragment, Policy::Pad] {
            // `measure` itself refuses a log that ends anywhere but where it must.
            let lost = measure(entry, 8 << 10, policy, 40, 1).unwrap();
            assert_eq!(lost.cuts, 40);
            assert!(lost.entries_lost_mean > 0.2 * lost.entries as f64);
            assert!(lost.entries_lost_mean < 0.8 * lost.entries as f64);
            assert!((0.0..=1.0).contains(&lost.entries_torn_mean));
        }
    }
}

#[test]
fn a_cut_in_padding_tears_nothing() {
    // One record of 5138 bytes in each block of 8 KiB, so more than a third of it is padding.
    let entry = Entry {
        key_bytes: 1024,
        value_bytes: 4096,
    };
    let torn = |policy| {
        let lost = measure(entry, 8 << 10, policy, 200, 3).unwrap();
        lost.entries_torn_mean
    };
    assert!(torn(Policy::Fragment) > 0.95);
    assert!((0.5..0.75).contains(&torn(Policy::Pad)));
}
