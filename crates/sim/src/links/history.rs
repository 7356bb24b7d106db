//! What clients of linked clusters did and saw: values and real time.

use std::collections::BTreeMap;

/// How a write ended, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Acknowledged at this time, in milliseconds.
    Acknowledged(u64),
    /// It may have been carried out, at the latest at this time.
    Unknown(u64),
}

/// A write; its number is its place among all.
#[derive(Debug, Clone)]
pub struct ClientWrite {
    /// The cluster it was made in.
    pub cluster: usize,
    /// Which key.
    pub key: u16,
    /// Delete instead of put.
    pub is_delete: bool,
    /// When it began, in milliseconds.
    pub start_ms: u64,
    /// How it ended; while it is under way it may be carried out until its deadline.
    pub outcome: Outcome,
}

impl ClientWrite {
    /// When it was carried out at the latest.
    fn end_ms(&self) -> u64 {
        match self.outcome {
            Outcome::Acknowledged(at_ms) | Outcome::Unknown(at_ms) => at_ms,
        }
    }

    fn is_acknowledged(&self) -> bool {
        matches!(self.outcome, Outcome::Acknowledged(_))
    }

    /// Whether a later write surely is the newer: of another cluster, by more than clocks are apart.
    fn is_overwritten_by(&self, later: &ClientWrite, apart_ms: u64) -> bool {
        let apart_ms = if self.cluster == later.cluster {
            0
        } else {
            apart_ms
        };
        later.is_acknowledged() && later.start_ms > self.end_ms() + apart_ms
    }
}

/// The values of a cluster: the number of the write of each key that has one.
pub type Values = BTreeMap<u16, usize>;

/// Checks the values of a cluster against the writes that reach it, which are those of the clusters `reaching`; of others,
/// some may have. `apart_ms` is how far apart clocks are.
///
/// # Errors
/// The first value that is wrong.
pub fn check(
    writes: &[ClientWrite],
    (cluster, reaching): (usize, &[usize]),
    keys: u16,
    values: &Values,
    apart_ms: u64,
) -> Result<(), String> {
    for key in 0..keys {
        let reach = |write: &&ClientWrite| write.key == key && reaching.contains(&write.cluster);
        let all: Vec<&ClientWrite> = writes.iter().filter(reach).collect();
        let overwritten = |write: &ClientWrite| {
            let mut later = all.iter().copied();
            later.find(|later| write.is_overwritten_by(later, apart_ms))
        };
        match values.get(&key) {
            Some(number) => {
                let Some(write) = writes.get(*number) else {
                    return Err(format!(
                        "cluster {cluster} has a value of key {key} that nobody wrote"
                    ));
                };
                if write.key != key || write.is_delete {
                    return Err(format!(
                        "cluster {cluster} has under key {key} the value of write {number}, which is {write:?}"
                    ));
                }
                if let Some(later) = overwritten(write) {
                    return Err(format!(
                        "cluster {cluster} has under key {key} the value of write {number}, {write:?}, which was overwritten by {later:?}"
                    ));
                }
            }
            None => {
                let deletes = writes.iter().filter(|w| w.key == key && w.is_delete);
                let mut deletes = deletes.filter(|delete| overwritten(delete).is_none());
                let put = all
                    .iter()
                    .find(|write| !write.is_delete && write.is_acknowledged());
                if let Some(put) = put
                    && deletes.next().is_none()
                {
                    return Err(format!(
                        "cluster {cluster} has no value of key {key}, in spite of {put:?}, and no delete explains it"
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
