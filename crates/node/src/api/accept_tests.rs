#![allow(clippy::unwrap_used, clippy::expect_used)]
use hyper::header::HeaderValue;

use super::*;

fn wanted(values: &[&str]) -> Option<Form> {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(ACCEPT, HeaderValue::from_str(value).unwrap());
    }
    match Form::wanted(&headers) {
        Ok(form) => Some(form),
        Err(rejected) => {
            assert_eq!(rejected.status, StatusCode::NOT_ACCEPTABLE);
            None
        }
    }
}

#[test]
fn the_header_chooses_the_form() {
    const PAIRS: &str = pairs::CONTENT_TYPE;
    for lines in [
        &[][..],
        &["*/*"],
        &["application/*"],
        &["application/x-ndjson"],
        &["text/html,application/xml;q=0.9,*/*;q=0.8"],
        &["application/x-ndjson;q=0.5, application/vnd.dunlin.pairs;q=0.4"],
        &["application/vnd.dunlin.pairs;q=0, */*"],
        &["application/vnd.dunlin.pairs;q=0.3", "*/*;q=0.4"],
    ] {
        assert_eq!(wanted(lines), Some(Form::Lines), "{lines:?}");
    }
    for binary in [
        &[PAIRS][..],
        &["Application/Vnd.Dunlin.Pairs"],
        &["application/vnd.dunlin.pairs, */*;q=0.1"],
        &["text/plain", PAIRS],
        &["application/vnd.dunlin.pairs ; Q=0.9, application/x-ndjson;q=0.2"],
        &["application/x-ndjson;q=0, */*"],
    ] {
        assert_eq!(wanted(binary), Some(Form::Pairs), "{binary:?}");
    }
    for neither in [
        "",
        "text/html",
        "application/json",
        "*/*;q=0",
        "application/vnd.dunlin.pairs;q=none",
        "application/vnd.dunlin.pairs.more",
        "/",
        ";;,,",
    ] {
        assert_eq!(wanted(&[neither]), None, "{neither:?}");
    }
}
