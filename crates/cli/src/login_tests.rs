#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn plain_http_to_other_machines_is_told() {
    for (servers, told) in [
        ("http://127.0.0.1:8080", None),
        ("127.0.0.1", None),
        ("http://localhost:1,http://[::1]:8080", None),
        ("https://10.0.0.1:8080", None),
        ("http://10.0.0.1:8080", Some("http://10.0.0.1:8080")),
        (
            "http://127.0.0.1:1, http://a.example/",
            Some("http://a.example/"),
        ),
        ("localhost.example", Some("localhost.example")),
        ("http://[2001:db8::1]:1", Some("http://[2001:db8::1]:1")),
    ] {
        assert_eq!(readable_on_the_way(servers), told, "{servers}");
    }
}

#[test]
fn a_secret_is_the_first_line_of_its_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (text, wanted) in [
        ("word\n", Some("word")),
        ("a b \r\nmore", Some("a b ")),
        ("", None),
        ("\nx", None),
    ] {
        std::fs::write(file.path(), text).unwrap();
        assert_eq!(secret(file.path()).ok().as_deref(), wanted, "{text:?}");
    }
    assert!(secret(Path::new("/nowhere/at/all")).is_err());
}
