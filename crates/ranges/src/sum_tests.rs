#![allow(clippy::unwrap_used)]
use bytes::Bytes;
use dunlin_entry::Version;

use super::*;

fn place(key: &str) -> Place {
    Place {
        keyspace: "bank".into(),
        key: Bytes::copy_from_slice(key.as_bytes()),
    }
}

fn body(text: &str) -> Body {
    Body::parse(text.as_bytes(), 99).unwrap()
}

#[test]
fn a_number_is_added_to_the_number_that_is_there() {
    let body = body(
        r#"{"writes": [{"keyspace": "bank", "key": "x", "value": "v"},
                       {"keyspace": "bank", "key": "a", "add": -3}]}"#,
    );
    let with = |value: &'static str| {
        let found = Some((Version(5), Bytes::from_static(value.as_bytes())));
        sums(&body, &[(place("a"), found)].into())
    };
    assert_eq!(sums(&body, &BTreeMap::new()), Ok(vec![(place("a"), -3)]));
    let cases = [("0", Some(-3)), ("41", Some(38)), ("1.5", None)];
    for (value, sum) in cases {
        let expected = sum.map(|sum| vec![(place("a"), sum)]);
        let found = with(value);
        assert_eq!(found.clone().ok(), expected, "{value}");
        assert!(found.err().is_none_or(|(index, _)| index == 1), "{value}");
    }
}
