use super::*;

#[test]
fn a_start_warns_of_what_others_can_reach() {
    const TLS: &str = "--http-tls-cert";
    const USERS: &str = "dunlin user add";
    for (http, has_http_tls, has_users, words) in [
        ("127.0.0.1:8080", false, false, &[][..]),
        ("127.9.9.9:8080", false, false, &[]),
        ("[::1]:8080", false, false, &[]),
        ("[::ffff:127.0.0.1]:8080", false, false, &[]),
        ("localhost:8080", false, false, &[]),
        ("LocalHost:8080", false, false, &[]),
        ("0.0.0.0:8080", false, false, &[TLS, USERS]),
        ("[::]:8080", false, false, &[TLS, USERS]),
        ("10.0.0.1:8080", false, true, &[TLS]),
        ("n1.example:8080", false, true, &[TLS]),
        ("localhost.example:8080", false, false, &[TLS, USERS]),
        ("0.0.0.0:8080", true, false, &[USERS]),
        ("0.0.0.0:8080", true, true, &[]),
        ("127.0.0.1:8080", true, true, &[]),
    ] {
        let lines = warnings(Doors {
            http,
            has_http_tls,
            has_users,
        });
        assert_eq!(lines.len(), words.len(), "{http}: {lines:?}");
        for (line, word) in lines.iter().zip(words) {
            assert!(line.contains(word) && line.contains(http), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }
}
