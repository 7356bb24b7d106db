//! Deliberate bugs, each of which the model must find.

/// What is done wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    None,
    /// A leader does not look at what was read before it proposes.
    NoCache,
    /// A new leader takes nothing for read.
    EmptyCache,
    /// A new leader does not look how far others let be read.
    BelowLease,
    /// A former leader lets be read above its lease.
    PastLease,
    /// Who asks is told that a transaction is aborted, and nothing is written.
    PushUnwritten,
    /// A transaction commits though an intent was refused.
    FailedIntent,
    /// A former oracle answers out of its window.
    OldWindow,
    /// The record of a transaction goes before its participants know that it committed.
    ForgottenEarly,
    /// Scans have no numbers of their own: one ends another.
    ScansMixed,
    /// A client hears that nothing happened, and its name is not closed.
    NotClosed,
    /// A transaction commits in a range behind the drop of its keyspace.
    LateCommit,
    /// A keyspace is purged before other ranges know the outcomes of its transactions.
    ForgottenWithKeyspace,
    /// A transaction with a lock believes that no other has written meanwhile.
    LockBelieved,
    /// Who commits later than it has read does not look at its scans again.
    ScansNotRefreshed,
    /// Others may write below the later timestamp at which something was read again.
    RefreshNotNoted,
    /// An update is answered before its entry is applied.
    AnsweredEarly,
    /// The entry of an update does not say what it relies on.
    ChecksLeftOut,
    /// A leader still expects entries that rely on a refused one.
    ExpectedAfterRefusal,
    /// No leader decides intents that are left of attempts.
    IntentsLeft,
    /// Who was not answered commits again at another timestamp.
    RunTwice,
}
