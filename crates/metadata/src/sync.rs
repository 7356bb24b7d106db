//! When an acknowledged write is on disk.
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// When a replica syncs its log to disk. Text form: `always`, `never`, `interval:100ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Sync {
    /// Before it acknowledges: an acknowledged write survives a power cut.
    #[default]
    Always,
    /// At most this many milliseconds (1 to 60,000) after it acknowledges: a power cut may lose
    /// that much, a crash of the process nothing.
    IntervalMs(u32),
    /// When the operating system likes: a power cut may lose what it had not written, a crash of
    /// the process nothing.
    Never,
}

/// The longest interval, in milliseconds.
const INTERVAL_MS_MAX: u32 = 60_000;

/// A text that is not a sync policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not always, never or interval:Nms with N from 1 to {INTERVAL_MS_MAX}")]
pub struct SyncParseError(String);

impl Sync {
    /// Whether an interval is within its limits.
    pub(crate) fn is_valid(self) -> bool {
        match self {
            Self::IntervalMs(ms) => (1..=INTERVAL_MS_MAX).contains(&ms),
            Self::Always | Self::Never => true,
        }
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Always => f.write_str("always"),
            Self::IntervalMs(ms) => write!(f, "interval:{ms}ms"),
            Self::Never => f.write_str("never"),
        }
    }
}

impl FromStr for Sync {
    type Err = SyncParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let sync = match text {
            "always" => Self::Always,
            "never" => Self::Never,
            _ => text
                .strip_prefix("interval:")
                .and_then(|rest| rest.strip_suffix("ms"))
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
                .and_then(|digits| digits.parse().ok())
                .map(Self::IntervalMs)
                .ok_or_else(|| SyncParseError(text.to_owned()))?,
        };
        if sync.is_valid() {
            Ok(sync)
        } else {
            Err(SyncParseError(text.to_owned()))
        }
    }
}

impl TryFrom<String> for Sync {
    type Error = SyncParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Sync> for String {
    fn from(sync: Sync) -> Self {
        sync.to_string()
    }
}

#[cfg(test)]
#[path = "sync_tests.rs"]
mod tests;
