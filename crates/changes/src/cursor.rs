//! A named cursor: where a consumer is that keeps no token, and who it is. Pure.

use serde::{Deserialize, Serialize};

/// A consumer that gives no sign for so long has lost its place.
pub(crate) const LEASE_MS: u64 = 15_000;

/// What is kept of a cursor; `docs/formats.md`, section 15.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cursor {
    /// Number of the keyspace.
    pub keyspace: u32,
    pub name: String,
    /// All before it has been committed.
    pub token: String,
    /// Grows with each consumer that is let in, and with each seek.
    pub generation: u64,
    pub holder: String,
    /// 0 when nobody has it.
    pub lease_until_ms: u64,
    pub created_ms: u64,
    pub committed_ms: u64,
}

/// Why a cursor cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CursorError {
    /// Wait, or end the other.
    #[error(
        "cursor {name} is being read by {holder}: it is free when that ends, or in {left_s} s if that neither commits nor renews"
    )]
    Held {
        name: String,
        holder: String,
        left_s: u64,
    },
    /// Begin to read again.
    #[error(
        "cursor {0} was given to another consumer, or set elsewhere: what comes behind its token comes again there"
    )]
    Stale(String),
}

impl Cursor {
    /// One that is made; `dropped_ms` is when the last of its name was dropped. Its generations begin above those
    /// of that one, which had fewer consumers than it lived milliseconds.
    pub fn new(
        keyspace: u32,
        name: &str,
        token: String,
        now_ms: u64,
        dropped_ms: Option<u64>,
    ) -> Cursor {
        Cursor {
            keyspace,
            name: name.to_owned(),
            token,
            generation: dropped_ms.map_or(now_ms, |dropped_ms| now_ms.max(dropped_ms + 1)),
            holder: String::new(),
            lease_until_ms: 0,
            created_ms: now_ms,
            committed_ms: now_ms,
        }
    }

    /// Whether somebody has it.
    pub fn is_held(&self, now_ms: u64) -> bool {
        self.lease_until_ms > now_ms
    }

    /// Lets a consumer in, one at a time; the one that has it by its generation, which comes from a lost node.
    pub fn grant(
        mut self,
        holder: &str,
        generation: Option<u64>,
        now_ms: u64,
    ) -> Result<Cursor, CursorError> {
        if self.is_held(now_ms) && generation != Some(self.generation) {
            return Err(CursorError::Held {
                left_s: (self.lease_until_ms - now_ms).div_ceil(1_000),
                name: self.name,
                holder: self.holder,
            });
        }
        self.generation += 1;
        self.holder = holder.to_owned();
        self.lease_until_ms = now_ms + LEASE_MS;
        Ok(self)
    }

    /// The consumer of this generation is still at work. Where its lease was over and nobody took the cursor, it
    /// has it again.
    pub fn renew(mut self, generation: u64, now_ms: u64) -> Result<Cursor, CursorError> {
        self.check(Some(generation))?;
        self.lease_until_ms = now_ms + LEASE_MS;
        Ok(self)
    }

    /// Whether the consumer of this generation may be given more: nobody else has the cursor, and it has not been
    /// given back.
    pub fn is_of(&self, generation: u64) -> bool {
        self.generation == generation && self.lease_until_ms > 0
    }

    /// The consumer of this generation is not there any more.
    pub fn release(mut self, generation: u64) -> Result<Cursor, CursorError> {
        self.check(Some(generation))?;
        self.lease_until_ms = 0;
        Ok(self)
    }

    /// The consumer is through with all before a token. It replaces the one before, whichever is further.
    pub fn commit(
        mut self,
        token: String,
        generation: Option<u64>,
        now_ms: u64,
    ) -> Result<Cursor, CursorError> {
        self.check(generation)?;
        self.token = token;
        self.committed_ms = now_ms;
        // Without a generation nobody knows whose sign it is.
        if generation.is_some() && self.lease_until_ms > 0 {
            self.lease_until_ms = now_ms + LEASE_MS;
        }
        Ok(self)
    }

    /// Sets it elsewhere; whoever reads by it is through.
    pub fn seek(mut self, token: String, now_ms: u64) -> Cursor {
        self.token = token;
        self.generation += 1;
        self.lease_until_ms = 0;
        self.committed_ms = now_ms;
        self
    }

    fn check(&self, generation: Option<u64>) -> Result<(), CursorError> {
        if generation.is_none_or(|of| of == self.generation) {
            Ok(())
        } else {
            Err(CursorError::Stale(self.name.clone()))
        }
    }
}

#[cfg(test)]
#[path = "cursor_tests.rs"]
mod tests;
