#![allow(clippy::unwrap_used)]
use dunlin_entry::{Stamp, Version};
use hyper::header::HeaderValue;

use super::*;

#[test]
fn a_client_is_sent_what_it_does_not_have() {
    let stamp = |ms| Stamp {
        version: Version::new(ms, 0),
        ..Stamp::default()
    };
    let (mine, other) = (stamp(5), stamp(6));
    let (quoted, both) = (format!("\"{mine}\""), format!("\"{other}\", W/\"{mine}\""));
    for (header, value, current, wanted) in [
        (IF_NONE_MATCH, quoted.as_str(), Some(mine), Verdict::Same),
        (IF_NONE_MATCH, &both, Some(mine), Verdict::Same),
        (IF_NONE_MATCH, &quoted, Some(other), Verdict::Whole),
        (IF_NONE_MATCH, &quoted, None, Verdict::Whole),
        (IF_NONE_MATCH, "*", Some(mine), Verdict::Same),
        (IF_NONE_MATCH, "*", None, Verdict::Whole),
        (IF_MATCH, &quoted, Some(mine), Verdict::Whole),
        (IF_MATCH, &quoted, Some(other), Verdict::Other),
        (IF_MATCH, &quoted, None, Verdict::Other),
        (IF_MATCH, "*", None, Verdict::Other),
        (IF_MATCH, "*", Some(mine), Verdict::Whole),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(&header, HeaderValue::from_str(value).unwrap());
        assert_eq!(
            judge(&headers, current).unwrap(),
            wanted,
            "{header} {value}"
        );
    }
    let mut headers = HeaderMap::new();
    assert_eq!(judge(&headers, Some(mine)).unwrap(), Verdict::Whole);
    headers.insert(IF_NONE_MATCH, HeaderValue::from_static("\"abc\""));
    assert_eq!(judge(&headers, Some(mine)).unwrap(), Verdict::Whole);
}
