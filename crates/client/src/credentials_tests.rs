#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn a_header_of_each_kind_and_none_of_what_fits_in_none() {
    let basic = |user: &str, password: &str| Credentials::Password {
        user: user.to_owned(),
        password: password.to_owned(),
    };
    let header = |of: Credentials| of.header().map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(
        header(basic("ann", "sécret:x")).unwrap(),
        "Basic YW5uOnPDqWNyZXQ6eA=="
    );
    let token = Credentials::Token("dunlin_x".to_owned());
    assert_eq!(header(token).unwrap(), "Bearer dunlin_x");
    for refused in [basic("a:b", "x"), Credentials::Token("se\ncret".to_owned())] {
        let line = header(refused).unwrap_err().to_string();
        assert!(!line.contains("cret"), "{line}");
    }
}

#[test]
fn nothing_shows_a_secret() {
    let password = Credentials::Password {
        user: "ann".to_owned(),
        password: "hush".to_owned(),
    };
    let token = Credentials::Token("hush".to_owned());
    for one in [password, token] {
        let shown = format!("{one:?} {:?}", one.header().unwrap());
        assert!(
            !shown.contains("hush") && !shown.contains("aHVza"),
            "{shown}"
        );
    }
}
