#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn authorities(list: &str) -> Vec<String> {
    parse_list(list)
        .unwrap()
        .iter()
        .map(|a| a.authority().to_owned())
        .collect()
}

#[test]
fn accepts_the_usual_spellings() {
    assert_eq!(authorities("http://127.0.0.1:8080"), ["127.0.0.1:8080"]);
    assert_eq!(
        authorities("n1:1, http://n2:2/,n3"),
        ["n1:1", "n2:2", "n3:8080"]
    );
    assert_eq!(authorities("http://[::1]:9"), ["[::1]:9"]);
    assert_eq!(authorities("[::1]"), ["[::1]:8080"]);
}

#[test]
fn refuses_what_cannot_be_a_server() {
    for wrong in [
        "",
        " , ",
        "ftp://a:1",
        "https://",
        "http://",
        "a:b",
        "a:70000",
        "a:0",
        "::1",
        "http://a/x",
        "u@h:1",
        "a b:1",
    ] {
        let error = parse_list(wrong).unwrap_err();
        assert!(
            matches!(error, ClientError::Address { .. }),
            "{wrong:?} gave {error}"
        );
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn with_and_without_tls() {
    let list = parse_list("https://n1.example:1,http://n2:2,n3,https://[::1]").unwrap();
    let shown: Vec<_> = list
        .iter()
        .map(|a| (a.to_string(), a.is_tls(), a.host()))
        .collect();
    let shown: Vec<_> = shown.iter().map(|(s, t, h)| (s.as_str(), *t, *h)).collect();
    assert_eq!(
        shown,
        [
            ("https://n1.example:1", true, "n1.example"),
            ("http://n2:2", false, "n2"),
            ("http://n3:8080", false, "n3"),
            ("https://[::1]:8080", true, "::1"),
        ]
    );
}

#[test]
fn a_password_in_an_address_is_refused_and_not_repeated() {
    for text in [
        "http://ann:sesame@h:1",
        "https://ann:sesame@h:1/x y",
        "ann:sesame@h",
        "sesame://sesame@h:1",
        "http://a:1,http://ann:ses@me@h:1",
    ] {
        let line = parse_list(text).unwrap_err().to_string();
        assert!(
            line.contains("...@h") && line.contains("password"),
            "{line}"
        );
        assert!(!line.contains("ses"), "{line}");
    }
}
