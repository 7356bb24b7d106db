#![allow(clippy::unwrap_used)]

use super::*;

fn total(values: &[&str]) -> Result<Total, Unfit> {
    let of = |value: &&str| Total::of(&serde_json::from_str(value).unwrap()).unwrap();
    let mut all = values.iter().map(of);
    let mut total = all.next().unwrap();
    all.try_for_each(|other| total.merge(&other))?;
    let mut bytes = Vec::new();
    total.encode(&mut bytes);
    assert_eq!(Total::decode(&mut &bytes[..]).as_ref(), Some(&total));
    Ok(total)
}

#[test]
fn values_of_one_shape_add_up() {
    for (values, expected) in [
        (&["1", "2.5"][..], "3.5"),
        (&["[1,2]", "[10,20,30]"], "[11,22,30]"),
        (&["[]", "[1]"], "[1]"),
        (&["5", "[1,2]", "3"], "[9,2]"),
        (
            &["{\"a\":1,\"b\":[1]}", "{\"b\":[2,3],\"c\":{\"d\":0.1}}"],
            "{\"a\":1,\"b\":[3,3],\"c\":{\"d\":0.1}}",
        ),
    ] {
        assert_eq!(total(values).unwrap().to_json(), expected);
        let backwards: Vec<&str> = values.iter().rev().copied().collect();
        assert_eq!(total(&backwards).unwrap().to_json(), expected);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    assert!(total(&["1", "{}"]).is_err());
    assert!(total(&["{\"a\":{}}", "{\"a\":[1]}"]).is_err());
    for value in ["\"1\"", "null", "[true]", "{\"a\":null}"] {
        assert_eq!(
            Total::of(&serde_json::from_str(value).unwrap()),
            None,
            "{value}"
        );
    }
    let deep = "[".repeat(100) + &"]".repeat(100);
    assert_eq!(Total::of(&serde_json::from_str(&deep).unwrap()), None);
    assert_eq!(Total::decode(&mut &b"\x01\xff\xff\xff\xff"[..]), None);
}
