#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn parse(query: Option<&str>) -> Result<Params, Rejected> {
    Params::of(query, &HeaderMap::new())
}

#[test]
fn values_are_decoded_and_plus_is_plus() {
    let params = parse(Some("id=a%20b%2Fc+d&empty=&flag&ack=2")).unwrap();
    assert_eq!(params.get("id").unwrap(), "a b/c+d");
    assert_eq!(params.get("flag").unwrap(), "");
    assert!(params.required("empty").is_err());
    assert!(params.required("none").is_err());
    assert_eq!(params.number("ack").unwrap(), Some(2));
    assert!(params.number("id").is_err());
}

#[test]
fn a_negative_or_huge_number_is_refused() {
    assert!(parse(Some("ack=-1")).unwrap().quorum(3, 3).is_err());
    assert!(
        parse(Some("from=99999999999"))
            .unwrap()
            .quorum(3, 3)
            .is_err()
    );
    assert!(parse(Some("ack=2&from=2")).unwrap().quorum(3, 3).is_ok());
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
        let refused = parse(Some(query)).unwrap_err();
        assert_eq!(refused.status, hyper::StatusCode::BAD_REQUEST, "{query}");
    }
    assert!(parse(Some("&id=a&&")).is_ok());
}

#[test]
fn the_header_goes_on_where_the_query_ends() {
    let of = |query, values: &[&'static str]| {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&QUERY_HEADER, value.parse().unwrap());
        }
        Params::of(query, &headers)
    };
    let params = of(Some("ack=2"), &["key=a%00b&from=3&expires_in=1"]).unwrap();
    assert_eq!(params.get("key").unwrap(), &b"a\0b"[..]);
    assert_eq!(params.number("expires_in").ok().flatten(), Some(1));
    assert_eq!(params.number("ack").ok().flatten(), Some(2));
    // Given twice is given twice, wherever.
    assert!(of(Some("key=a"), &["key=b"]).is_err());
    assert!(of(None, &["key=b", "ack=1"]).is_err());
    // As a proxy makes one line of two, and what should have been encoded.
    for line in [
        "key=b, ack=1",
        "key=b,ack=1",
        "key=a b",
        "key=a#b",
        "key=a\tb",
        "key=a;b",
    ] {
        assert!(of(None, &[line]).is_err(), "{line}");
    }
    assert!(of(None, &["key=%zz"]).is_err());
    assert!(of(None, &["key=\u{e9}"]).is_err());
}

#[test]
fn a_hundred_thousand_parameters_are_refused_by_the_first_few() {
    let many: String = (0..100_000).map(|number| format!("p{number}&")).collect();
    let refused = parse(Some(&many)).unwrap_err();
    assert!(refused.line.contains("more than 32"), "{}", refused.line);
    let long = "n".repeat(300_000);
    let refused = parse(Some(&long))
        .and_then(|params| params.only(&["id"]))
        .unwrap_err();
    assert!(refused.line.len() < 200, "{}", refused.line.len());
}
