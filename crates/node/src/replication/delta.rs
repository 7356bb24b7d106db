//! What a backfill asks its source for. Pure (decision 40).

use dunlin_entry::{Origin, Vector, Version};

use crate::sabotage::Sabotage;

/// Up to where it has, or gets from elsewhere, what each origin stamped: `have` of what it has itself, and
/// all of those whose own backfill or stream brings it. `covered` is the source's vector.
pub(super) fn leave_out(
    covered: &Vector,
    have: &Vector,
    comes_from_itself: impl Fn(Origin, Version) -> bool,
    sabotage: Sabotage,
) -> Vector {
    let mut left_out = have.clone();
    if sabotage == Sabotage::ForgetWhose {
        let newest = have.iter().map(|(_, version)| version).max();
        for (origin, _) in have.iter() {
            left_out.advance(origin, newest.unwrap_or_default());
        }
    }
    for (origin, version) in covered.iter() {
        if comes_from_itself(origin, version) {
            left_out.advance(origin, Version::MAX);
        }
    }
    left_out
}

/// What such a backfill has brought once it has ended: all of `covered` that was not left to others.
pub(super) fn brought(covered: &Vector, left_out: &Vector) -> Vector {
    let is_asked = |(origin, _): &(Origin, Version)| left_out.get(*origin) != Version::MAX;
    covered.iter().filter(is_asked).collect()
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
