//! How transactions are kept apart.

/// How transactions are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    /// Read committed, and locks of rows (`FOR UPDATE`).
    ReadCommitted,
    /// Serializable.
    Serializable,
}

impl Isolation {
    /// The statement that begins one.
    pub fn begin(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
            Isolation::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
        }
    }
}
