//! What the tests ask with.

use serde_json::{Value, json};

use crate::harness::answer::Answer;
use crate::harness::curl::{curl, curl_with};

pub const ADMIN: &str = "ann:correct horse";

/// One request of somebody: `NAME:PASSWORD`, or `` for nobody.
pub fn ask(user: &str, method: &str, url: &str, body: &[u8]) -> Answer {
    let mut arguments = vec!["-X", method, url];
    if method == "HEAD" {
        arguments = vec!["-I", url];
    }
    if !user.is_empty() {
        arguments.extend(["-u", user]);
    }
    if body.is_empty() {
        return curl(&arguments);
    }
    arguments.extend(["--data-binary", "@-"]);
    curl_with(&arguments, body)
}

pub fn status(user: &str, method: &str, url: &str, body: &[u8]) -> u16 {
    ask(user, method, url, body).status
}

pub fn bearer(token: &str, url: &str) -> Answer {
    curl(&["-H", &format!("Authorization: Bearer {token}"), url])
}

/// Makes a user; answers what the server tells.
pub fn add(by: &str, server: &str, user: &str, roles: Value, token: bool) -> Value {
    let (name, password) = user.split_once(':').unwrap();
    let mut body = json!({ "name": name, "roles": roles, "token": token });
    if !password.is_empty() {
        body["password"] = password.into();
    }
    let url = format!("{server}/v1/users");
    let made = ask(by, "POST", &url, body.to_string().as_bytes());
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()
}

/// Makes the first.
pub fn close(server: &str) {
    let told = add("", server, ADMIN, json!({ "*": "admin" }), false);
    assert_eq!(told["waits_for"], json!([]), "{told}");
}
