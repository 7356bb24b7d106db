//! Which replica logs that a value is over. Pure.

use dunlin_proto::ShardAddress;

/// Whether `own` is to: of the replicas in their order the first that can be reached, so that not each of
/// them says the same. What nobody has said for long is said by whoever finds it.
pub(super) fn is_turn(
    replicas: &[ShardAddress],
    own: ShardAddress,
    is_late: bool,
    is_reachable: impl Fn(ShardAddress) -> bool,
) -> bool {
    let Some(place) = replicas.iter().position(|replica| *replica == own) else {
        return false;
    };
    is_late || !replicas.iter().take(place).any(|r| is_reachable(*r))
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
