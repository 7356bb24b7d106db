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

/// Options of a put or a delete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Acknowledgements wanted.
    pub quorum: Quorum,
    /// Seconds after which the value is gone (puts only).
    pub expires_in_s: Option<u64>,
    /// Condition on the key's present state.
    pub condition: Condition,
}

impl WriteOptions {
    pub(crate) fn add_to(&self, call: &mut Call) {
        self.quorum.add_to(call);
        if let Some(seconds) = self.expires_in_s {
            call.parameter("expires_in", &seconds.to_string());
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
