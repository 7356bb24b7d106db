//! The secrets of a file.
use ring::hmac;
use std::fmt;

/// The shortest secret, in bytes. One that can be guessed is guessed by whoever listens.
pub const SECRET_BYTES_MIN: usize = 16;
/// The most lines of a file.
pub const SECRETS_MAX: usize = 8;
/// The longest file, in bytes.
pub(crate) const FILE_BYTES_MAX: usize = 8 << 10;

/// What is wrong with a secret file's content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// Nothing in it.
    #[error("holds no secret; make one: openssl rand -hex 32")]
    Empty,
    /// Too easily guessed.
    #[error(
        "line {line} holds {bytes} bytes; a secret has at least {SECRET_BYTES_MIN}: openssl rand -hex 32"
    )]
    Short {
        /// Which, from 1.
        line: usize,
        /// How many it has.
        bytes: usize,
    },
    /// More than a rotation needs.
    #[error(
        "holds more than {SECRETS_MAX} secrets; remove those that no node proves with any more"
    )]
    Many,
    /// Not a secret file.
    #[error("is larger than {FILE_BYTES_MAX} bytes; is it the right file?")]
    Large,
    /// A pipe, a device, a directory.
    #[error("is no regular file: it is read again and again, and has to be one")]
    NoFile,
    /// Cannot be read.
    #[error("cannot be read: {0}")]
    Unreadable(String),
}

/// The secrets of a file: the first proves, any is accepted. Only keys made of them are kept.
#[derive(Clone)]
pub struct Secrets(Vec<hmac::Key>);

impl Secrets {
    /// One secret a line. White space around it and empty lines do not count.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn parse(text: &[u8]) -> Result<Secrets, SecretError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(SecretError::Large);
        }
        let mut keys = Vec::new();
        for (number, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            if line.len() < SECRET_BYTES_MIN {
                return Err(SecretError::Short {
                    line: number + 1,
                    bytes: line.len(),
                });
            }
            keys.push(hmac::Key::new(hmac::HMAC_SHA256, line));
        }
        match keys.len() {
            0 => Err(SecretError::Empty),
            count if count > SECRETS_MAX => Err(SecretError::Many),
            _ => Ok(Secrets(keys)),
        }
    }

    /// The one that proves. There is none only where nothing is proven.
    pub(crate) fn first(&self) -> Option<&hmac::Key> {
        self.0.first()
    }

    /// All of them.
    pub(crate) fn all(&self) -> &[hmac::Key] {
        &self.0
    }

    /// None: nobody proves anything with them, and nobody is believed.
    pub(crate) fn none() -> Secrets {
        Secrets(Vec::new())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} secrets", self.0.len())
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
