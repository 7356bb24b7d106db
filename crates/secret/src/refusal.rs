//! Why two do not trust each other, in one line that says what to do.
use crate::preamble::{Door, VERSION};

/// Why an opening ended, as the opener or the acceptor sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The acceptor asks for a secret, and this side has none.
    Asked,
    /// The acceptor does not know the secret that this side proves with.
    Wrong,
    /// The acceptor has none.
    NoSecret,
    /// The acceptor cannot prove that it knows the secret.
    Impostor,
    /// The acceptor knows this version at most.
    Version(u16),
    /// The acceptor is another kind of port.
    OtherDoor,
    /// What came is not what is due in an opening.
    Strange,
    /// Here: the opener proved nothing.
    Unproven,
    /// Here: its proof is wrong.
    WrongHere,
    /// Here: it offers a proof, and this side has no secret.
    NoSecretHere,
}

impl Refusal {
    /// What people are told who look after this side of the door.
    pub fn line(self, door: Door) -> String {
        let (flag, other, this) = match door {
            Door::Peer => ("--peer-secret-file", "the other node", "this node"),
            Door::Copy => ("--secret-file", "the other side", "this side"),
        };
        match self {
            Refusal::Asked => format!(
                "{other} asks for a secret: start {this} with {flag} and the file of {other}"
            ),
            Refusal::Wrong => format!(
                "{other} does not know the secret of {this}: the first line of the file of {flag} \
                 here must be a line of the file there"
            ),
            Refusal::NoSecret => {
                let rollout = match door {
                    Door::Peer => {
                        ", or start this node with --peer-secret-mode offered until all nodes have it"
                    }
                    Door::Copy => "",
                };
                format!("{other} has no secret: start it with {flag}{rollout}")
            }
            Refusal::Impostor => format!(
                "whoever answers there cannot prove to know the secret that {this} proved: it is not \
                 {other}; find out who listens at that address"
            ),
            Refusal::Version(theirs) => format!(
                "{other} knows version {theirs} of the proof of a secret, {this} version {VERSION}: \
                 run the same build on both"
            ),
            Refusal::OtherDoor => {
                format!("that is a port of another kind: correct the address of {other}")
            }
            Refusal::Strange => {
                format!("{other} does not answer as one that knows of secrets does")
            }
            Refusal::Unproven => {
                let rollout = match door {
                    Door::Peer => {
                        "; while nodes without it are to be let in, start this node with \
                         --peer-secret-mode offered"
                    }
                    Door::Copy => "",
                };
                format!(
                    "it proves no secret: if it is one of ours, start it with {flag} and the file of \
                     {this}{rollout}"
                )
            }
            Refusal::WrongHere => format!(
                "its secret is not known here: if it is one of ours, the first line of its file of \
                 {flag} must be a line of the file here"
            ),
            Refusal::NoSecretHere => {
                format!("it offers to prove a secret and {this} has none: start it with {flag}")
            }
        }
    }
}
