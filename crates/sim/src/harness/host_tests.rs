#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;

use super::*;

#[test]
fn every_log_setting_occurs_and_a_seed_is_a_setting() {
    let mut met = BTreeSet::new();
    for seed in 0..500 {
        let options = log_settings(seed).log_options();
        options.validate().unwrap();
        assert_eq!(options, log_settings(seed).log_options());
        met.insert((
            options.block_size_bytes,
            options.padding.to_string(),
            options.compression.to_string(),
            options.direct_io,
        ));
    }
    assert_eq!(met.len(), 4 * 2 * 3 * 2);
}
