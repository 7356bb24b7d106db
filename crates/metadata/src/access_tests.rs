#![allow(clippy::unwrap_used)]
use super::*;

fn user(roles: &[(&str, Role)]) -> User {
    User {
        roles: roles
            .iter()
            .map(|(name, role)| ((*name).to_owned(), *role))
            .collect(),
        password: Some(Hash::new("$argon2id$secret")),
        tokens: vec![Hash::new("ab")],
        made_ms: 0,
        made_by: "x".to_owned(),
        changed_ms: 0,
        changed_by: "x".to_owned(),
    }
}

#[test]
fn a_role_holds_those_before_it_and_a_star_holds_all_names() {
    use Role::{Admin, Read, Write};
    let all = [Read, Write, Admin];
    for has in all {
        for wanted in all {
            let enough = has >= wanted;
            let on_all = user(&[(ALL, has)]);
            assert_eq!(on_all.may(wanted, "birds"), enough);
            assert_eq!(on_all.may(wanted, ALL), enough);
            let on_one = user(&[("birds", has)]);
            assert_eq!(on_one.may(wanted, "birds"), enough);
            assert!(!on_one.may(wanted, "bird"));
            assert!(!on_one.may(wanted, ALL), "one keyspace is not all");
        }
    }
    let both = user(&[(ALL, Read), ("birds", Write)]);
    assert!(both.may(Write, "birds") && both.may(Read, "waders"));
    assert!(!both.may(Write, "waders") && !both.may(Write, ALL));
}

#[test]
fn hashes_are_stored_and_not_shown() {
    let user = user(&[(ALL, Role::Read)]);
    let shown = format!("{user:?}");
    assert!(
        !shown.contains("secret") && !shown.contains("ab"),
        "{shown}"
    );
    let json = serde_json::to_string(&user).unwrap();
    assert!(json.contains("$argon2id$secret"));
    assert_eq!(serde_json::from_str::<User>(&json).unwrap(), user);
}

#[test]
fn what_is_not_known_is_not_read() {
    for text in [
        r#"{"changes":1,"closed":false,"users":{},"more":1}"#,
        r#"{"changes":1,"users":{}}"#,
        r#"{"changes":1,"closed":true,"users":{"a":{"roles":{"*":"stream"},"made_ms":0,"made_by":"","changed_ms":0,"changed_by":""}}}"#,
        r#"{"changes":1,"closed":true,"users":{"a":{"roles":{},"until_ms":1,"made_ms":0,"made_by":"","changed_ms":0,"changed_by":""}}}"#,
    ] {
        assert!(serde_json::from_str::<Access>(text).is_err(), "{text}");
    }
}
