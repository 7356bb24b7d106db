//! What a backfill asks its source for. Pure (decision 40).

use dunlin_entry::{Origin, Vector, Version};

/// Up to where it has, or gets from elsewhere, what each origin stamped: `have` of what it has itself, and
/// all of those whose own backfill or stream brings it. `covered` is the source's vector.
pub(super) fn leave_out(
    covered: &Vector,
    have: &Vector,
    comes_from_itself: impl Fn(Origin, Version) -> bool,
) -> Vector {
    let mut left_out: Vector = have
        .iter()
        .filter(|pair| tells(have, covered, pair.0))
        .collect();
    for (origin, version) in covered.iter() {
        // A seal is the number of a start: nothing is stamped with it.
        if !origin.is_seal() && comes_from_itself(origin, version) {
            left_out.advance(origin, Version::MAX);
        }
    }
    left_out
}

/// Whether what `have` says of an origin tells what it has of it. Where the source has more of the starts
/// that are sealed here, nobody knows how far each of them was (decision 42).
fn tells(have: &Vector, covered: &Vector, origin: Origin) -> bool {
    let is_more =
        |(start, version): (Origin, Version)| have.is_sealed(start) && version > have.get(start);
    let is_covered = origin.is_seal() || have.is_sealed(origin);
    !(is_covered && covered.starts_of(origin).any(is_more))
}

/// What such a backfill has brought once it has ended: all of `covered` that was not left to others.
pub(super) fn brought(covered: &Vector, left_out: &Vector) -> Vector {
    let is_asked = |(origin, _): &(Origin, Version)| left_out.get(*origin) != Version::MAX;
    covered.iter().filter(is_asked).collect()
}

#[cfg(test)]
#[path = "delta_tests.rs"]
mod tests;
