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

#[test]
fn ports_that_let_everybody_in_are_warned_of() {
    use LetsIn::{All, AllAsYet, Known};
    for (listen, is_near) in [
        ("127.0.0.1:7080", true),
        ("[::1]:7080", true),
        ("localhost:7080", true),
        ("0.0.0.0:7080", false),
        ("[::]:7080", false),
        ("10.0.0.1:7080", false),
        ("n1.example:7080", false),
    ] {
        for (lets_in, peer_words, copy_words) in [
            (All, "--peer-secret-file", "--secret-file"),
            (AllAsYet, "--peer-secret-mode required", "--secret-file"),
        ] {
            for (line, words) in [
                (peer_warning(listen, lets_in), peer_words),
                (copy_warning(listen, lets_in), copy_words),
            ] {
                assert_eq!(line.is_none(), is_near, "{listen} {lets_in:?}: {line:?}");
                let Some(line) = line else {
                    continue;
                };
                assert!(line.contains(listen) && line.contains(words), "{line}");
                assert!(!line.contains('\n'), "{line}");
            }
        }
        assert_eq!(peer_warning(listen, Known), None);
        assert_eq!(copy_warning(listen, Known), None);
    }
}
