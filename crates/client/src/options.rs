//! How many replicas a request asks, and under which conditions a write is done.

use crate::call::Call;

/// How many replicas must answer (`ack`) of how many that are asked (`from`). `None` leaves the
/// choice to the server: all replicas of the keyspace are asked and a majority must answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quorum {
    /// Replicas that must answer.
    pub ack: Option<u16>,
    /// Replicas that are asked; a write has at most this many copies.
    pub from: Option<u16>,
}

impl Quorum {
    /// `ack` answers of `from` replicas.
    pub fn of(ack: u16, from: u16) -> Quorum {
        Quorum {
            ack: Some(ack),
            from: Some(from),
        }
    }

    pub(crate) fn add_to(self, call: &mut Call) {
        if let Some(ack) = self.ack {
            call.parameter("ack", &ack.to_string());
        }
        if let Some(from) = self.from {
            call.parameter("from", &from.to_string());
        }
    }
}

/// When a write is to be done at all; a server answers 412 when the condition does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Condition {
    /// Always.
    #[default]
    None,
    /// Only when the key has this version.
    Version(String),
    /// Only when the key has no value.
    Absent,
}

/// When a value is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expires {
    /// So many seconds after the put, by the server's clock.
    InS(u64),
    /// At this time, in milliseconds since 1970.
    AtMs(u64),
}

/// Options of a put or a delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Acknowledgements wanted.
    pub quorum: Quorum,
    /// When the value is gone (puts only); `None` where it stays.
    pub expires: Option<Expires>,
    /// Condition on the key's present state.
    pub condition: Condition,
}

impl WriteOptions {
    pub(crate) fn add_to(&self, call: &mut Call) {
        self.quorum.add_to(call);
        match self.expires {
            None => {}
            Some(Expires::InS(seconds)) => call.parameter("expires_in", &seconds.to_string()),
            Some(Expires::AtMs(ms)) => call.parameter("expires_at", &ms.to_string()),
        }
        match &self.condition {
            Condition::None => {}
            Condition::Version(version) => call.header("if-match", format!("\"{version}\"")),
            Condition::Absent => call.header("if-none-match", "*".to_owned()),
        }
        // Sending a conditional write twice can make the first one fail the second.
        call.repeatable = self.condition == Condition::None;
    }
}
