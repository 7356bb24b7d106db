//! Saying in the log that everything of some origins is here.

use dunlin_entry::{Entry, Origin, Vector, Version};

use super::Shard;

impl Shard {
    /// Says of these origins that everything up to these versions is here, though not all of it is in the
    /// log in its place.
    pub(crate) async fn claim_aside(&self, claims: &[(Origin, Version)]) -> Result<(), String> {
        // Who has followed this log up to here has not seen in it what the vector now says.
        self.open_gap().await?;
        self.log_claim(claims, false);
        self.close_gap(Some(&Vector::new())).await;
        Ok(())
    }

    /// Writes into the log that everything of these origins up to these versions is here. Not
    /// `whole` when some of it is only in the store and not in the log, for others to pull; then within
    /// a gap only.
    pub(crate) fn log_claim(&self, claims: &[(Origin, Version)], whole: bool) {
        let claimed: Vector = claims.iter().copied().collect();
        let mut record = Entry::of_vector(&claimed);
        record.copy = !whole;
        if self.log_vector(&record) {
            self.vector.borrow_mut().merge(&claimed);
        }
    }
}
