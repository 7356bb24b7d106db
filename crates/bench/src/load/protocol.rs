//! What a connection speaks: makes requests, judges responses.

/// How a response was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The answer that was wanted.
    Expected,
    /// A well-formed answer with another status.
    Status(u16),
    /// The right status with the wrong content.
    WrongBody,
}

/// How far the bytes of a response reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// More bytes are needed; the first `consumed` are done with.
    Incomplete {
        /// Bytes that need not be shown again.
        consumed: usize,
    },
    /// The response is complete.
    Complete {
        /// Bytes that need not be shown again.
        consumed: usize,
        /// What it was.
        verdict: Verdict,
    },
}

/// Bytes that are no response of this protocol: the connection cannot be used further.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server's answer is not understood: {0}")]
pub struct Malformed(pub &'static str);

/// One request outstanding per connection, made and judged by a workload.
pub trait Protocol {
    /// What a connection remembers between a request and its response.
    type Exchange: Default;

    /// Appends what is sent once when a connection opens.
    fn greeting(&self, _exchange: &mut Self::Exchange, _out: &mut Vec<u8>) {}

    /// Appends the next request; false when the workload has no more.
    fn request(&mut self, exchange: &mut Self::Exchange, out: &mut Vec<u8>) -> bool;

    /// Whether the run is to end now, before its time; then there are no more requests either.
    fn is_over(&self) -> bool {
        false
    }

    /// Judges what came in; appends to `out` what the protocol itself must answer.
    ///
    /// # Errors
    /// [`Malformed`] when the bytes cannot be a response.
    fn response(
        &mut self,
        exchange: &mut Self::Exchange,
        input: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Progress, Malformed>;
}
