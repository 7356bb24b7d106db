//! Whether who is no replica may be shown an entry: once so many of its replicas have it that no loss of the
//! fewer takes it back. Pure; decision 46.

use dunlin_proto::ShardAddress;

/// Whether a majority of `replicas` has an entry, and of `also` where there are any: the second set while the
/// replicas change from one to another.
pub(crate) fn is_shown(
    replicas: &[ShardAddress],
    also: &[ShardAddress],
    has: impl Fn(ShardAddress) -> bool,
) -> bool {
    let enough = |set: &[ShardAddress]| {
        let count = set.iter().filter(|replica| has(**replica)).count();
        count > set.len() / 2
    };
    enough(replicas) && (also.is_empty() || enough(also))
}

#[cfg(test)]
#[path = "shown_tests.rs"]
mod tests;
