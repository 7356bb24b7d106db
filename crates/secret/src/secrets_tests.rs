#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_file_is_read() {
    let long = "x".repeat(FILE_BYTES_MAX + 1);
    let many = "sixteen bytes at least\n".repeat(SECRETS_MAX + 1);
    let cases: [(&str, Result<usize, SecretError>); 9] = [
        ("0123456789abcdef", Ok(1)),
        ("0123456789abcdef\n", Ok(1)),
        ("\r\n  0123456789abcdef \r\n\n", Ok(1)),
        ("0123456789abcdef\nfedcba9876543210\n", Ok(2)),
        ("", Err(SecretError::Empty)),
        (" \n\t\n", Err(SecretError::Empty)),
        (
            "0123456789abcdef\n0123456789abcde\n",
            Err(SecretError::Short { line: 2, bytes: 15 }),
        ),
        (&many, Err(SecretError::Many)),
        (&long, Err(SecretError::Large)),
    ];
    for (text, expected) in cases {
        let read = Secrets::parse(text.as_bytes()).map(|secrets| secrets.all().len());
        assert_eq!(read, expected, "{:?}", &text[..text.len().min(40)]);
    }
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let secrets = Secrets::parse(b"knot-sanderling-dunlin").unwrap();
    let shown = format!("{secrets:?}");
    assert_eq!(shown, "1 secrets");
    let short = Secrets::parse(b"knot").unwrap_err();
    assert!(!format!("{short} {short:?}").contains("knot"));
}
