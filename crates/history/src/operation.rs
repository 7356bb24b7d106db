//! One operation on one key, as its client saw it.

use std::fmt;

/// Place in the one order of all beginnings and ends. What begins at the moment at which another
/// ends is taken as beside it, not after it.
pub type Moment = u64;

/// What a key holds. Unique for each put where possible: it is what makes a history tell much, and
/// the check fast. Below 2^53, or outside checkers misread it.
pub type Value = u64;

/// What a client asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Store a value.
    Put(Value),
    /// Store that there is none.
    Delete,
    /// Store `value` (or that there is none) if the key holds `expected` (or none).
    Swap {
        /// What the key must hold.
        expected: Option<Value>,
        /// What it shall hold.
        value: Option<Value>,
    },
    /// Read; what was found, when it ended well.
    Get(Option<Value>),
}

/// How it ended, as far as its client knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It happened, once, before `returned`.
    Ok {
        /// When the client heard of it.
        returned: Moment,
    },
    /// A swap that was looked at and found another value than it expected: it wrote nothing.
    Unmet {
        /// When the client heard of it.
        returned: Moment,
    },
    /// It did not happen and will not. Of a swap this says nothing about the value that was there.
    Failed,
    /// Never answered, or with an error that leaves it open: it happened once after its beginning,
    /// however late, or never.
    Unknown {
        /// When given, it does not happen after this. So it is with an attempt that was given up,
        /// once a later attempt at the same has been acknowledged.
        until: Option<Moment>,
    },
}

/// One operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Who asked.
    pub process: u64,
    /// Of which key.
    pub key: String,
    /// What was asked, and of a read what was found.
    pub kind: Kind,
    /// When it began.
    pub invoked: Moment,
    /// How it ended.
    pub outcome: Outcome,
    /// Anything that helps a reader, such as the node that was asked; empty when nothing does.
    pub note: String,
}

impl Operation {
    /// What it leaves in the key when it happens; `None` for one that writes nothing.
    pub(crate) fn writes(&self) -> Option<Option<Value>> {
        match (self.kind, self.outcome) {
            (Kind::Get(_), _) | (_, Outcome::Failed | Outcome::Unmet { .. }) => None,
            (Kind::Put(value), _) => Some(Some(value)),
            (Kind::Delete, _) => Some(None),
            (Kind::Swap { value, .. }, _) => Some(value),
        }
    }

    /// When it was over for its client; `None` for one with an open end.
    pub(crate) fn returned(&self) -> Option<Moment> {
        match self.outcome {
            Outcome::Ok { returned } | Outcome::Unmet { returned } => Some(returned),
            Outcome::Failed | Outcome::Unknown { .. } => None,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |value: Option<Value>| value.map_or("nothing".to_owned(), |v| v.to_string());
        let (end, outcome) = match self.outcome {
            Outcome::Ok { returned } => (returned.to_string(), "ok".to_owned()),
            Outcome::Unmet { returned } => (returned.to_string(), "condition not met".to_owned()),
            Outcome::Failed => ("-".to_owned(), "failed".to_owned()),
            Outcome::Unknown { until: None } => ("?".to_owned(), "unknown".to_owned()),
            Outcome::Unknown { until: Some(until) } => {
                ("?".to_owned(), format!("unknown, until {until} at most"))
            }
        };
        let what = match (self.kind, self.outcome) {
            (Kind::Put(value), _) => format!("put {value}"),
            (Kind::Delete, _) => "delete".to_owned(),
            (Kind::Swap { expected, value }, _) => {
                format!("swap {} for {}", name(expected), name(value))
            }
            (Kind::Get(found), Outcome::Ok { .. }) => format!("get: {}", name(found)),
            (Kind::Get(_), _) => "get".to_owned(),
        };
        let (begin, process) = (self.invoked, self.process);
        write!(
            f,
            "{begin:>8} .. {end:<8} process {process:<3} {what}, {outcome}"
        )?;
        if self.note.is_empty() {
            Ok(())
        } else {
            write!(f, " ({})", self.note)
        }
    }
}
