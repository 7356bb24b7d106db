#![allow(clippy::unwrap_used)]
use super::*;

const PAGE: &str = "https://app.example.net";

/// The headers of an answer with `Allow` to a request from `origin`.
fn told(origins: &[&str], method: Method, origin: Option<&str>, asks: bool) -> HeaderMap {
    let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
    let mut request = HeaderMap::new();
    if let Some(origin) = origin {
        request.insert(ORIGIN, origin.parse().unwrap());
    }
    if asks {
        request.insert(ACCESS_CONTROL_REQUEST_METHOD, "PUT".parse().unwrap());
    }
    let mut answer = HeaderMap::new();
    answer.insert(ALLOW, "GET, PUT, OPTIONS".parse().unwrap());
    if let Some(cors) = Cors::of(&origins, &method, &request) {
        cors.tell(StatusCode::NO_CONTENT, &mut answer);
    }
    answer
}

#[test]
fn only_pages_that_the_settings_name_may() {
    for (origins, origin, allowed, vary) in [
        (&[][..], Some(PAGE), None, false),
        (&[PAGE], None, None, true),
        (&[PAGE], Some(PAGE), Some(PAGE), true),
        (&["http://a", PAGE], Some(PAGE), Some(PAGE), true),
        (&[PAGE], Some("https://app.example.net:444"), None, true),
        (&[PAGE], Some("http://app.example.net"), None, true),
        (
            &[PAGE],
            Some("https://app.example.net.evil.org"),
            None,
            true,
        ),
        (&[PAGE], Some("null"), None, true),
        (&["*"], Some(PAGE), Some("*"), false),
        (&["*"], None, None, false),
    ] {
        let headers = told(origins, Method::GET, origin, false);
        let found = headers.get(ACCESS_CONTROL_ALLOW_ORIGIN);
        assert_eq!(
            found.map(|v| v.to_str().unwrap()),
            allowed,
            "{origins:?} {origin:?}"
        );
        assert_eq!(headers.contains_key(VARY), vary, "{origins:?} {origin:?}");
        let exposes = headers.contains_key(ACCESS_CONTROL_EXPOSE_HEADERS);
        assert_eq!(exposes, allowed.is_some());
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_METHODS));
    }
}

#[test]
fn what_a_page_posts_unasked_counts_only_where_it_is_named() {
    for (origins, method, origin, expected) in [
        (&[][..], Method::POST, None, false),
        (&[], Method::POST, Some(PAGE), true),
        (&[], Method::POST, Some("null"), true),
        (&[PAGE], Method::POST, Some(PAGE), false),
        (&[PAGE], Method::POST, Some("https://other"), true),
        (&["*"], Method::POST, Some("https://other"), false),
        // Browsers ask about these first, and are told no.
        (&[], Method::PUT, Some(PAGE), false),
        (&[], Method::GET, Some(PAGE), false),
    ] {
        let origins: Vec<String> = origins.iter().map(ToString::to_string).collect();
        let mut request = HeaderMap::new();
        if let Some(origin) = origin {
            request.insert(ORIGIN, origin.parse().unwrap());
        }
        let strange = is_strange(&origins, &method, &request);
        assert_eq!(strange, expected, "{origins:?} {method} {origin:?}");
    }
}

#[test]
fn a_browser_that_asks_first_is_told_the_methods_of_the_path() {
    let headers = told(&[PAGE], Method::OPTIONS, Some(PAGE), true);
    assert_eq!(headers[ACCESS_CONTROL_ALLOW_METHODS], "GET, PUT, OPTIONS");
    assert!(headers.contains_key(ACCESS_CONTROL_ALLOW_HEADERS));
    assert!(headers.contains_key(ACCESS_CONTROL_MAX_AGE));
    for (origin, asks) in [("https://other", true), (PAGE, false)] {
        let headers = told(&[PAGE], Method::OPTIONS, Some(origin), asks);
        assert!(!headers.contains_key(ACCESS_CONTROL_ALLOW_METHODS));
    }
}
