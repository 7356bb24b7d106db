//! Who calls, over what, and how many calls are outstanding.

use serde::Serialize;

/// Bytes of a request.
pub const REQUEST_BYTES: usize = 1_024;
/// Bytes of a response.
pub const RESPONSE_BYTES: usize = 10;

/// Whose calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// `crates/rpc`.
    Dunlin,
    /// Blocking reads and writes of the bytes alone, one request after the other.
    PingPong,
    /// The bytes alone, as many in a write as there are.
    Stream,
    /// gRPC of Rust: `tonic`, over HTTP/2.
    Tonic,
}

/// What the bytes go over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Over {
    /// TCP without delay, on the loopback.
    Tcp,
    /// A Unix socket.
    Unix,
    /// A queue between two threads; no bytes are written.
    Threads,
}

/// The processors of the two threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Processors {
    /// Both threads share one: latencies are work alone, and no processor is woken.
    One,
    /// One each.
    Two,
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Calls {
    /// Whose calls.
    pub caller: Caller,
    /// What the bytes go over.
    pub over: Over,
    /// Connections of the client.
    pub connections: usize,
    /// Calls without an answer on each.
    pub depth: usize,
    /// Those of the two threads.
    pub processors: Processors,
}

impl Calls {
    /// What a latency is compared with.
    pub fn ping_pong(self) -> Calls {
        Calls {
            caller: Caller::PingPong,
            connections: 1,
            depth: 1,
            ..self
        }
    }

    /// What a rate is compared with.
    pub fn tonic(self) -> Calls {
        Calls {
            caller: Caller::Tonic,
            ..self
        }
    }

    /// For people.
    pub fn name(self) -> &'static str {
        match self.caller {
            Caller::Dunlin => "Dunlin",
            Caller::PingPong => "blocking ping-pong",
            Caller::Stream => "bare stream",
            Caller::Tonic => "tonic (gRPC)",
        }
    }
}

impl Processors {
    /// How many.
    pub fn count(self) -> usize {
        match self {
            Processors::One => 1,
            Processors::Two => 2,
        }
    }
}

impl Over {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Over::Tcp => "TCP",
            Over::Unix => "Unix",
            Over::Threads => "threads",
        }
    }
}

/// Calls outstanding on a connection.
const DEPTHS: [usize; 4] = [1, 4, 16, 64];
const CONNECTIONS: [usize; 2] = [1, 4];

/// All cases, each beside those that it is compared with.
pub fn cases() -> Vec<Calls> {
    let mut cases = Vec::new();
    let mut add_on = |processors, caller, over, connections, depth| {
        cases.push(Calls {
            caller,
            over,
            connections,
            depth,
            processors,
        });
    };
    for over in [Over::Tcp, Over::Unix, Over::Threads] {
        for caller in [Caller::PingPong, Caller::Dunlin, Caller::Tonic] {
            if caller != Caller::Tonic || over == Over::Tcp {
                add_on(Processors::One, caller, over, 1, 1);
            }
        }
    }
    let mut add = |caller, over, connections, depth| {
        add_on(Processors::Two, caller, over, connections, depth);
    };
    for over in [Over::Tcp, Over::Unix, Over::Threads] {
        add(Caller::PingPong, over, 1, 1);
        let connections = if over == Over::Threads {
            &CONNECTIONS[..1]
        } else {
            &CONNECTIONS
        };
        for &connections in connections {
            for depth in DEPTHS {
                add(Caller::Dunlin, over, connections, depth);
                if over == Over::Threads {
                    continue;
                }
                add(Caller::Stream, over, connections, depth);
                if over == Over::Tcp {
                    add(Caller::Tonic, over, connections, depth);
                }
            }
        }
    }
    cases
}

#[cfg(test)]
#[path = "case_tests.rs"]
mod tests;
