//! Saying in the log that everything of some origins is here.

use dunlin_entry::{Entry, Origin, Vector, Version};

use super::Shard;

impl Shard {
    /// Writes into the log that everything of these origins up to these versions is here. Not
    /// `whole` when some of it is only in the store and not in the log, for others to pull.
    pub(crate) fn log_claim(&self, claims: &[(Origin, Version)], whole: bool) {
        let claimed: Vector = claims.iter().copied().collect();
        let mut record = Entry::of_vector(&claimed);
        record.copy = !whole;
        if self.log_vector(&record) {
            self.vector.borrow_mut().merge(&claimed);
        }
    }
}
