#![allow(clippy::unwrap_used, clippy::expect_used)]
use dunlin_entry::{Origin, Stamp, Version};

use super::*;

fn stamp(version: u64, origin: u64) -> Rank {
    Stamp::new(Version(version), Origin(origin)).into()
}

#[test]
fn the_greater_stamp_wins_and_ties_go_to_the_greater_origin() {
    let held = stamp(5, 5);
    assert_eq!(judge(None, stamp(0, 0)), Verdict::Write);
    assert_eq!(judge(Some(held), stamp(6, 0)), Verdict::Write);
    assert_eq!(judge(Some(held), stamp(5, 6)), Verdict::Write);
    assert_eq!(judge(Some(held), held), Verdict::Held);
    for older in [stamp(4, 9), stamp(5, 4)] {
        assert_eq!(judge(Some(held), older), Verdict::Lost { newer: held });
    }
}
