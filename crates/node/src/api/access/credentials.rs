//! The header `Authorization`: RFC 9110, 7617 (Basic), 6750 (Bearer).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hyper::header::{AUTHORIZATION, HeaderMap};

/// A longer header is nobody's password.
const BYTES_MAX: usize = 4 << 10;
/// With padding or without: there are clients of both kinds.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What somebody says of himself.
#[derive(PartialEq, Eq)]
pub(super) enum Credentials<'a> {
    /// A name, and the password that goes with it.
    Basic {
        /// The name.
        user: String,
        /// The password.
        password: Vec<u8>,
    },
    /// A token.
    Bearer(&'a [u8]),
    /// Of a scheme that is not known here.
    Other,
}

/// Why a header makes no sense. Says nothing of what is in it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::api) struct Malformed(pub &'static str);

/// The header, if there is one.
pub(super) fn header(headers: &HeaderMap) -> Result<Option<&[u8]>, Malformed> {
    let mut all = headers.get_all(AUTHORIZATION).iter();
    match (all.next(), all.next()) {
        (None, _) => Ok(None),
        (Some(one), None) if one.len() <= BYTES_MAX => Ok(Some(one.as_bytes())),
        (Some(_), None) => Err(Malformed("Authorization is too long")),
        // Of two, what stands between may have checked the other.
        (Some(_), Some(_)) => Err(Malformed("Authorization is given twice")),
    }
}

/// What a header says.
pub(super) fn read(header: &[u8]) -> Result<Credentials<'_>, Malformed> {
    let header = header.trim_ascii();
    let end = header.iter().position(|byte| *byte == b' ');
    let (scheme, rest) = header.split_at(end.unwrap_or(header.len()));
    let rest = rest.trim_ascii();
    if scheme.eq_ignore_ascii_case(b"basic") {
        let text = BASE64.decode(rest);
        let text = text.map_err(|_| Malformed("Authorization: Basic is not base64"))?;
        let colon = text.iter().position(|byte| *byte == b':');
        let colon = colon.ok_or(Malformed("Authorization: Basic holds no colon"))?;
        // Names that are no text are nobody's.
        let user = String::from_utf8_lossy(&text[..colon]).into_owned();
        let password = text[colon + 1..].to_vec();
        return Ok(Credentials::Basic { user, password });
    }
    if scheme.eq_ignore_ascii_case(b"bearer") {
        let is_token68 = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(byte);
        return if !rest.is_empty() && rest.iter().all(is_token68) {
            Ok(Credentials::Bearer(rest))
        } else {
            Err(Malformed("Authorization: Bearer holds no token"))
        };
    }
    Ok(Credentials::Other)
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
