//! What can be wrong with bytes.

/// Bytes that are not an entry, a vector or a stored record. They were not written by this
/// version of Dunlin or were damaged on the way: do not use them, and report where they were.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Fewer bytes than the layout needs.
    #[error("{what} ends after {have} bytes, {need} are needed")]
    Short {
        /// The thing being decoded.
        what: &'static str,
        /// Bytes needed.
        need: usize,
        /// Bytes present.
        have: usize,
    },
    /// A field holds a value that means nothing.
    #[error("{field} has the unknown value {value}")]
    Unknown {
        /// The field's name in `docs/formats.md`.
        field: &'static str,
        /// The value found.
        value: u64,
    },
    /// More bytes than the layout allows.
    #[error("{what} is followed by {extra} unexpected bytes")]
    Trailing {
        /// The thing being decoded.
        what: &'static str,
        /// Bytes too many.
        extra: usize,
    },
}
