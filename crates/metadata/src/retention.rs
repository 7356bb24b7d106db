//! How much of its log each shard keeps for who follows a keyspace.
use crate::error::MetadataError;
use serde::{Deserialize, Serialize};

/// The longest age, a hundred years.
const AGE_S_MAX: u64 = 100 * 366 * 86_400;

/// What of a shard's log is kept for a keyspace's followers. What is left out sets no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Retention {
    /// The last so many bytes of the log stay, whether anybody needs them or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_bytes: Option<u64>,
    /// What was logged in the last so many seconds stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_age_s: Option<u64>,
    /// A follower holds back no more than the last so many bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Nor what was logged more than so many seconds ago.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age_s: Option<u64>,
}

impl Retention {
    /// Whether it sets no bound.
    pub fn is_empty(&self) -> bool {
        *self == Retention::default()
    }

    /// Checks the bounds against their limits and one another.
    pub fn check(&self) -> Result<(), MetadataError> {
        let ages = [self.min_age_s, self.max_age_s].into_iter().flatten();
        if let Some(age_s) = ages.into_iter().find(|age_s| *age_s > AGE_S_MAX) {
            let what = format!("a retention of {age_s} s");
            let rule = format!("must be at most {AGE_S_MAX}");
            return Err(MetadataError::invalid(what, &rule));
        }
        let pairs = [
            ("bytes", self.min_bytes, self.max_bytes),
            ("s", self.min_age_s, self.max_age_s),
        ];
        for (unit, min, max) in pairs {
            if let (Some(min), Some(max)) = (min, max)
                && max < min
            {
                let what = format!("a greatest retention of {max} {unit}");
                let rule = format!("must be no less than the least, {min} {unit}");
                return Err(MetadataError::invalid(what, &rule));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
