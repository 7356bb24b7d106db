//! Who sends, over what.

use serde::Serialize;

use crate::rpc::case::Over;

/// Bytes of a message.
pub const MESSAGE_BYTES: usize = 1_024;
/// Messages for each that comes back.
pub const MESSAGES: usize = 5;
/// Five messages each, outstanding on a connection.
pub const OUTSTANDING: usize = 64;

/// Whose messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sender {
    /// `crates/rpc`: four requests that are not answered, and one that is.
    Dunlin,
    /// The bytes alone, as many in a write as there are.
    Stream,
    /// `iperf3`, with nothing that comes back.
    Iperf {
        /// Bytes in a write.
        write_bytes: usize,
    },
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// Whose messages.
    pub sender: Sender,
    /// What they go over.
    pub over: Over,
    /// Connections.
    pub connections: usize,
}

impl Messages {
    /// For people.
    pub fn name(self) -> String {
        match self.sender {
            Sender::Dunlin => "Dunlin".to_owned(),
            Sender::Stream => "bare stream".to_owned(),
            Sender::Iperf { write_bytes } => format!("iperf3, {} KiB a write", write_bytes >> 10),
        }
    }
}

/// All cases, each beside those that it is compared with.
pub fn cases() -> Vec<Messages> {
    let small = Sender::Iperf {
        write_bytes: MESSAGE_BYTES,
    };
    let large = Sender::Iperf {
        write_bytes: 128 << 10,
    };
    let mut cases = Vec::new();
    for over in [Over::Tcp, Over::Unix] {
        for connections in [1, 4, 16] {
            for sender in [Sender::Dunlin, Sender::Stream, small, large] {
                if over == Over::Unix && matches!(sender, Sender::Iperf { .. }) {
                    continue;
                }
                cases.push(Messages {
                    sender,
                    over,
                    connections,
                });
            }
        }
    }
    cases
}
