#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn servers_and_a_name() {
    let one: KeyspaceAddress = "http://127.0.0.1:8080/birds".parse().unwrap();
    assert_eq!(
        (one.servers().as_str(), one.name()),
        ("http://127.0.0.1:8080", "birds")
    );
    let three: KeyspaceAddress = "http://a:1,http://b:2,c:3/birds/".parse().unwrap();
    assert_eq!(three.to_string(), "http://a:1,http://b:2,c:3/birds");
    assert_eq!(three.servers_from(0), "http://a:1,http://b:2,c:3");
    assert_eq!(three.servers_from(4), "http://b:2,c:3,http://a:1");
}

#[test]
fn what_names_no_keyspace_or_no_server_is_refused() {
    for text in [
        "http://a:1",
        "http://a:1/",
        "http://",
        "http:///birds",
        "http://a:1,http://b:2",
    ] {
        let refused = text.parse::<KeyspaceAddress>().unwrap_err();
        assert!(refused.contains("names no keyspace"), "{refused}");
    }
    for text in ["http://a:x/birds", "ftp://a:1/birds", "http://a:1/v1/birds"] {
        assert!(text.parse::<KeyspaceAddress>().is_err(), "{text}");
    }
}

#[test]
fn a_password_in_an_address_is_refused_and_not_repeated() {
    for text in ["https://ann:sesame@a:1/birds", "http://ann:sesame@a:1"] {
        let refused = text.parse::<KeyspaceAddress>().unwrap_err();
        assert!(
            refused.contains("...@a:1") && !refused.contains("sesame"),
            "{refused}"
        );
    }
    let secret: KeyspaceAddress = "https://a:1,https://b:2/birds".parse().unwrap();
    assert_eq!(secret.servers(), "https://a:1,https://b:2");
}
