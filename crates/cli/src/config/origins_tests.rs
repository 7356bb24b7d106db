use super::*;

#[test]
fn an_origin_is_what_browsers_send() {
    for good in [
        "*",
        "https://app.example.net",
        "http://localhost:3000",
        "http://127.0.0.1:8081",
        "http://[::1]:3000",
        "http://[::1]",
        "chrome-extension://abcdef",
    ] {
        assert!(is_origin(good), "{good}");
    }
    for bad in [
        "",
        "app.example.net",
        "https://",
        "https://app.example.net/",
        "https://app.example.net/page",
        "https://App.example.net",
        "https://app.example.net:443",
        "http://app.example.net:80",
        "http://app.example.net:port",
        "http://a:007",
        "http://a:0",
        "http://a:+5",
        "http://a::5",
        "http://a b",
        "https://*.example.net",
        "null",
    ] {
        assert!(!is_origin(bad), "{bad}");
        let said = check_origins(&["*".to_owned(), bad.to_owned()]);
        assert!(said.is_err_and(|failure| failure.to_string().contains(&format!("{bad:?}"))));
    }
}
