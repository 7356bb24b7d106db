//! Bounds of transactions, as a node is told them.

use std::time::Duration;

/// The most keys that may be allowed.
const KEYS_MAX: usize = 65_536;
/// The most bytes: an entry of a range's log carries them.
const BYTES_MAX: usize = 16 << 20;
/// The most that may be read.
const READ_BYTES_MAX: usize = 1 << 30;
/// The longest time.
const TIME_MAX: Duration = Duration::from_secs(3_600);
/// Old versions are kept for so much longer than a transaction lasts, at least: clocks differ.
const SPARE: Duration = Duration::from_secs(30);

/// Bounds of transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Keys that one may name in one request, or write over several.
    pub keys: usize,
    /// Bytes of keys and values that one may write.
    pub bytes: usize,
    /// Bytes of values that one request of one may read.
    pub read_bytes: usize,
    /// One over several requests that is not used for so long is aborted.
    pub idle: Duration,
    /// The longest that such a one lasts.
    pub time: Duration,
    /// For how long old versions, and what became of transactions, are kept.
    pub retention: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            keys: 4_096,
            bytes: 4 << 20,
            read_bytes: 64 << 20,
            idle: Duration::from_secs(30),
            time: Duration::from_secs(60),
            retention: Duration::from_secs(600),
        }
    }
}

impl Limits {
    /// Whether they can be kept.
    ///
    /// # Errors
    /// What is wrong with them, in the words of the settings.
    pub fn check(&self) -> Result<(), String> {
        let is_short = self.time.saturating_add(SPARE) > self.retention;
        let wrong = [
            (
                self.keys == 0 || self.keys > KEYS_MAX,
                format!("txn keys must be from 1 to {KEYS_MAX}"),
            ),
            (
                self.bytes < 1 << 10 || self.bytes > BYTES_MAX,
                format!("txn bytes must be from 1KiB to {}MiB", BYTES_MAX >> 20),
            ),
            (
                self.read_bytes < 1 << 10 || self.read_bytes > READ_BYTES_MAX,
                format!(
                    "txn read bytes must be from 1KiB to {}MiB",
                    READ_BYTES_MAX >> 20
                ),
            ),
            (
                self.idle.is_zero() || self.time.is_zero() || self.time > TIME_MAX,
                format!(
                    "txn idle and txn time must be above 0s, and txn time at most {}s",
                    TIME_MAX.as_secs()
                ),
            ),
            (
                is_short,
                format!(
                    "txn retention must be longer than txn time by {}s: a transaction reads what was there when it began",
                    SPARE.as_secs()
                ),
            ),
        ];
        match wrong.into_iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, line)) => Err(line),
            None => Ok(()),
        }
    }

    /// Whether a transaction may have so many keys, and write so many bytes.
    ///
    /// # Errors
    /// Which limit it is above.
    pub(crate) fn admit(&self, keys: usize, bytes: usize) -> Result<(), String> {
        if keys > self.keys {
            return Err(format!(
                "a transaction has at most {} keys (setting txn keys), this one {keys}: make it smaller",
                self.keys
            ));
        }
        if bytes > self.bytes {
            return Err(format!(
                "a transaction writes at most {} bytes (setting txn bytes), this one {bytes}: make it smaller",
                self.bytes
            ));
        }
        Ok(())
    }

    /// The retention in milliseconds.
    pub(crate) fn retention_ms(&self) -> u64 {
        u64::try_from(self.retention.as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
