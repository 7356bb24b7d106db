//! The rules for a new link. Pure; one line for each that does not hold.

use dunlin_entry::cluster_number;
use dunlin_proto::api::LinkTarget;

/// The first reason why there can be no link from `ours` to `theirs`. Whether the one there is empty is checked apart.
pub(crate) fn check(
    ours: &LinkTarget,
    theirs: &LinkTarget,
    grace_s_min: u64,
) -> Result<(), String> {
    let number = |target: &LinkTarget| u128::from_str_radix(&target.cluster, 16).ok();
    let number = |target: &LinkTarget| number(target).map(cluster_number);
    if ours.cluster == theirs.cluster {
        return Err("the address is of this very cluster: a link leads to another one".to_owned());
    }
    if number(theirs).is_none() || number(ours) == number(theirs) {
        return Err(
            "both clusters have the same number, the first bits of their ids: they cannot be linked"
                .to_owned(),
        );
    }
    for (target, whose) in [(ours, "the keyspace here"), (theirs, "the keyspace there")] {
        if target.mode != "quorum" {
            return Err(format!(
                "{whose} is of mode {}: links are of mode quorum",
                target.mode
            ));
        }
        if target.tombstone_grace_s < grace_s_min {
            return Err(format!(
                "{whose} remembers deletes for {} s: a link needs --tombstone-grace 1d at least",
                target.tombstone_grace_s
            ));
        }
    }
    let apart_ms = ours.clock_ms.abs_diff(theirs.clock_ms);
    let bound_ms = ours.clock_bound_ms.min(theirs.clock_bound_ms);
    if apart_ms > bound_ms {
        return Err(format!(
            "the clocks of the clusters are {apart_ms} ms apart, more than --clock-bound ({bound_ms} ms): set one of them right"
        ));
    }
    if theirs.max_body_bytes < ours.max_body_bytes {
        return Err(format!(
            "values there have at most {} bytes, here {}: raise --max-body there",
            theirs.max_body_bytes, ours.max_body_bytes
        ));
    }
    Ok(())
}

/// Why there can be no link into a keyspace with records, of which the entries of `home` have not all arrived here.
pub(crate) fn not_arrived(home: &str, theirs: &LinkTarget) -> String {
    let whose = if home == theirs.cluster {
        "its own".to_owned()
    } else {
        format!("cluster {home}'s")
    };
    format!(
        "the keyspace there holds records, or remembers deletes, and not all of {whose} have arrived here by links without prefix: a link begins with a keyspace that holds nothing, as --create makes it, or leads back to one whose entries come here"
    )
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
