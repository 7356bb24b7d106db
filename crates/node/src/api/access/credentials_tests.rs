#![allow(clippy::unwrap_used)]
use base64::engine::general_purpose::STANDARD as PADDED;
use hyper::header::HeaderValue;
use proptest::prelude::*;

use super::*;

fn basic(text: &[u8]) -> Vec<u8> {
    format!("Basic {}", PADDED.encode(text)).into_bytes()
}

fn is_basic(header: &[u8], name: &str, secret: &[u8]) -> bool {
    let wanted = Credentials::Basic {
        user: name.to_owned(),
        password: secret.to_vec(),
    };
    read(header).is_ok_and(|read| read == wanted)
}

#[test]
fn both_schemes_as_the_rfcs_have_them() {
    assert!(is_basic(&basic(b"ann:secret"), "ann", b"secret"));
    assert!(is_basic(b"bASIC  YW5uOnNlY3JldA== ", "ann", b"secret"));
    assert!(
        is_basic(b"Basic YW5uOnNlY3JldA", "ann", b"secret"),
        "no padding"
    );
    assert!(
        is_basic(&basic(b"ann:a:b"), "ann", b"a:b"),
        "the first colon"
    );
    assert!(is_basic(&basic(b":"), "", b""));
    let bearer = read(b"bearer dunlin_a-B_9");
    assert!(matches!(bearer, Ok(Credentials::Bearer(b"dunlin_a-B_9"))));
    for other in [&b"Digest x=1"[..], b"", b"Basically YTpi", b"Negotiate"] {
        assert!(matches!(read(other), Ok(Credentials::Other)), "{other:?}");
    }
    for malformed in [
        &b"Basic"[..],
        b"Basic !!!!",
        b"Basic YW5u",
        b"Basic YW5uOnNlY3JldA== more",
        b"Bearer",
        b"Bearer two words",
        b"Bearer \"quoted\"",
    ] {
        assert!(read(malformed).is_err(), "{malformed:?}");
    }
}

#[test]
fn one_header_or_none() {
    let mut headers = HeaderMap::new();
    assert_eq!(header(&headers), Ok(None));
    headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
    assert_eq!(header(&headers), Ok(Some(&b"Bearer a"[..])));
    headers.append(AUTHORIZATION, HeaderValue::from_static("Bearer a"));
    assert!(header(&headers).is_err());
    let long = "x".repeat(BYTES_MAX + 1);
    let long = HeaderMap::from_iter([(AUTHORIZATION, HeaderValue::try_from(long).unwrap())]);
    assert!(header(&long).is_err());
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes);
        let _ = read(&[b"Basic ", &bytes[..]].concat());
        let _ = read(&[b"Bearer ", &bytes[..]].concat());
    }

    #[test]
    fn what_was_written_is_read(user in "[A-Za-z0-9._-]{1,63}", password in "\\PC{0,40}") {
        let text = format!("{user}:{password}");
        prop_assert!(is_basic(&basic(text.as_bytes()), &user, password.as_bytes()));
    }

    /// What is told of a header that makes no sense never holds any of it.
    #[test]
    fn no_error_says_what_was_in_it(secret in "[a-z]{12,20}") {
        for header in [format!("Basic {secret}!"), format!("Bearer {secret} {secret}")] {
            let Err(Malformed(line)) = read(header.as_bytes()) else { panic!("{header} is read") };
            prop_assert!(!line.contains(&secret));
        }
    }
}
