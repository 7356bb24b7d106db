#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

#[test]
fn values_are_decoded_and_plus_is_plus() {
    let params = Params::parse(Some("id=a%20b%2Fc+d&empty=&flag&ack=2")).unwrap();
    assert_eq!(params.get("id").unwrap(), "a b/c+d");
    assert_eq!(params.get("flag").unwrap(), "");
    assert!(params.required("empty").is_err());
    assert!(params.required("none").is_err());
    assert_eq!(params.number("ack").unwrap(), Some(2));
    assert!(params.number("id").is_err());
}

#[test]
fn a_negative_or_huge_number_is_refused() {
    assert!(Params::parse(Some("ack=-1")).unwrap().quorum(3, 3).is_err());
    assert!(
        Params::parse(Some("from=99999999999"))
            .unwrap()
            .quorum(3, 3)
            .is_err()
    );
    assert!(
        Params::parse(Some("ack=2&from=2"))
            .unwrap()
            .quorum(3, 3)
            .is_ok()
    );
}

#[test]
fn what_may_mean_two_things_is_refused() {
    for query in [
        "id=%zz",
        "id=%",
        "id=%4",
        "%q=1",
        "id=a&id=b",
        "id=a&%69d=b",
    ] {
        let refused = Params::parse(Some(query)).unwrap_err();
        assert_eq!(refused.status, hyper::StatusCode::BAD_REQUEST, "{query}");
    }
    assert!(Params::parse(Some("&id=a&&")).is_ok());
}
