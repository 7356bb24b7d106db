//! What follows from the mode and from what the other side does. Pure.
use crate::preamble::MAGIC;
use crate::refusal::Refusal;

/// How much a side insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// It has no secret: it proves nothing and asks for nothing.
    #[default]
    Off,
    /// It proves its secret to those who know it, and lets in those who prove none: for the time
    /// in which the nodes of a cluster get the secret one after the other.
    Offered,
    /// It talks only with those who know the secret.
    Required,
}

/// Not the name of a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected required or offered")]
pub struct UnknownMode;

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Mode, UnknownMode> {
        match text {
            "required" => Ok(Mode::Required),
            "offered" => Ok(Mode::Offered),
            _ => Err(UnknownMode),
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Mode::Off => "off",
            Mode::Offered => "offered",
            Mode::Required => "required",
        })
    }
}

/// What an opener begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opens {
    /// The hello, as if there were no secrets.
    Plainly,
    /// The preamble.
    Proving,
}

/// What an opener begins with.
pub fn opens(mode: Mode) -> Opens {
    match mode {
        Mode::Off => Opens::Plainly,
        Mode::Offered | Mode::Required => Opens::Proving,
    }
}

/// Whether an opener that was refused opens once more, plainly.
pub fn falls_back(mode: Mode, refusal: Refusal) -> bool {
    match refusal {
        Refusal::NoSecret | Refusal::Wrong | Refusal::Version(_) => mode == Mode::Offered,
        // Whoever accepts a proof without knowing the secret lies; the others are no node of ours.
        Refusal::Impostor | Refusal::OtherDoor | Refusal::Strange => false,
        // These meet whoever opens plainly, and whoever accepts.
        Refusal::Asked | Refusal::Unproven | Refusal::WrongHere | Refusal::NoSecretHere => false,
    }
}

/// What an acceptor does with a connection's first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Serves {
    /// Reads on as if there were no secrets.
    Plainly,
    /// Reads the rest of the request and challenges.
    Challenging,
    /// Says that a secret is asked for, and hangs up. Nothing more is parsed.
    Asking,
    /// Reads the rest of the request, says that there is no secret here, and hangs up.
    WithoutSecret,
}

/// What an acceptor does with a connection's first four bytes.
pub fn serves(mode: Mode, first: [u8; 4]) -> Serves {
    match (mode, first == MAGIC) {
        (Mode::Off, true) => Serves::WithoutSecret,
        (Mode::Offered | Mode::Required, true) => Serves::Challenging,
        (Mode::Off | Mode::Offered, false) => Serves::Plainly,
        (Mode::Required, false) => Serves::Asking,
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
