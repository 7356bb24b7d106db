//! Who asks: a user with a password, or a token. Neither is ever shown.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::HeaderValue;

use crate::error::ClientError;

/// What a client says of itself to every server.
#[derive(Clone, PartialEq, Eq)]
pub enum Credentials {
    /// A user and the password that goes with it.
    Password {
        /// The user's name.
        user: String,
        /// The password.
        password: String,
    },
    /// A token, which is one user's.
    Token(String),
}

impl Credentials {
    /// The value of `Authorization`.
    pub(crate) fn header(&self) -> Result<HeaderValue, ClientError> {
        let text = match self {
            Credentials::Password { user, .. } if user.contains(':') => {
                return Err(ClientError::Invalid(
                    "the name of a user holds no colon".to_owned(),
                ));
            }
            Credentials::Password { user, password } => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            Credentials::Token(token) => format!("Bearer {token}"),
        };
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| ClientError::Invalid("the token holds what no token does".to_owned()))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Credentials::Password { user, .. } => write!(f, "Password({user}, hidden)"),
            Credentials::Token(_) => f.write_str("Token(hidden)"),
        }
    }
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
