use super::*;

#[test]
fn status_and_body() {
    let answer = "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\na 1\r\n\r\nb 2\n";
    assert_eq!(parse(answer), Some((200, "a 1\r\n\r\nb 2\n".to_owned())));
    assert_eq!(parse("HTTP/1.1 201\r\n\r\n"), Some((201, String::new())));
    assert_eq!(parse("+PONG\r\n"), None);
}
