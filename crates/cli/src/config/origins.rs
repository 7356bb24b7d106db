//! Origins of web pages, checked: what no browser sends would never match.

use crate::failure::Failure;

/// Whether each is `*` or an origin as browsers send it: scheme, host, and a port that is not the
/// scheme's own.
///
/// # Errors
/// Names the first that is neither.
pub fn check_origins(origins: &[String]) -> Result<(), Failure> {
    match origins.iter().find(|origin| !is_origin(origin)) {
        None => Ok(()),
        Some(origin) => Err(Failure::Usage(format!(
            "cors origin {origin:?} is neither * nor SCHEME://HOST[:PORT], in small letters and without \
             a path"
        ))),
    }
}

fn is_origin(origin: &str) -> bool {
    if origin == "*" {
        return true;
    }
    let Some((scheme, rest)) = origin.split_once("://") else {
        return false;
    };
    let (host, port) = match rest.rsplit_once(':') {
        // The colons of an address in brackets are its own.
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (rest, None),
    };
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-_[]:".contains(&byte);
    let own = match scheme {
        "http" => Some("80"),
        "https" => Some("443"),
        _ => None,
    };
    !scheme.is_empty()
        && scheme.bytes().all(|byte| {
            byte.is_ascii_lowercase() || b"+-.".contains(&byte) || byte.is_ascii_digit()
        })
        && !host.is_empty()
        && host.bytes().all(plain)
        && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'))
        && port.is_none_or(|port| is_port(port) && Some(port) != own)
}

/// As it is written without need: no zeros before it.
fn is_port(text: &str) -> bool {
    let port = text.parse::<u16>().ok().filter(|port| *port > 0);
    port.is_some_and(|port| port.to_string() == text)
}

#[cfg(test)]
#[path = "origins_tests.rs"]
mod tests;
