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
        "https://a:1",
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
