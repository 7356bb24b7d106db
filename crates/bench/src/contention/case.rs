//! What each client does again and again.

use std::io;
use std::thread::sleep;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cluster::client::Client;

/// The keyspace: two ranges, cut between the two keys.
pub const KEYSPACE: &str = "hot";
/// Where it is cut.
pub const SPLIT: &str = "m";
/// The key that everybody uses.
pub const HOT: &str = "a";
/// One in the other range.
const OTHER: &str = "z";

/// A use of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// It is written.
    Put,
    /// It is read and written, in one request.
    One,
    /// The same, and another key in another range is written.
    Apart,
    /// One is added to its number, in one request.
    Add,
    /// Its number is read, and one more is written if nobody else has.
    Check,
    /// The same in a transaction over several requests.
    Steps,
    /// The same, and the key is locked when it is read.
    Locked,
    /// As `Steps`, with 200 ms between read and write, beside a client that reads the key ten times a second.
    Think,
    /// One is added to a row of PostgreSQL.
    Row,
}

/// A row of the table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Crowd {
    /// The task.
    pub task: Task,
    /// By so many clients.
    pub clients: usize,
}

/// All of them, in the order in which they have their turns.
pub const CROWDS: [Crowd; 14] = [
    case(Task::Put, 64),
    case(Task::One, 64),
    case(Task::Apart, 64),
    case(Task::Add, 64),
    case(Task::Check, 64),
    case(Task::Steps, 64),
    case(Task::Locked, 64),
    case(Task::Add, 10),
    case(Task::Check, 10),
    case(Task::Steps, 10),
    case(Task::Locked, 10),
    case(Task::Think, 1),
    case(Task::Row, 64),
    case(Task::Row, 10),
];

const fn case(task: Task, clients: usize) -> Crowd {
    Crowd { task, clients }
}

impl Task {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            Task::Put => "put",
            Task::One => "read and write, one request",
            Task::Apart => "the same, and a write in another range",
            Task::Add => "counter: add",
            Task::Check => "counter: get, then check and write",
            Task::Steps => "counter: begin, get, put, commit",
            Task::Locked => "the same with lock=true",
            Task::Think => "begin, get, 200 ms, put, commit; beside 10 reads/s",
            Task::Row => "PostgreSQL: UPDATE n = n + 1",
        }
    }

    /// Whether each commit adds one to the key.
    pub fn counts(self) -> bool {
        matches!(
            self,
            Task::Row | Task::Add | Task::Check | Task::Steps | Task::Locked | Task::Think
        )
    }
}

/// What an attempt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// It happened.
    Done,
    /// Others were in the way.
    Refused,
    /// Another answer: status and body.
    Failed(u16, String),
}

/// The hot key.
pub fn key_path() -> String {
    format!("/v1/keyspaces/{KEYSPACE}/keys/{HOT}")
}

/// One attempt.
///
/// # Errors
/// When the connection breaks.
pub fn attempt(task: Task, to: &mut Client, value: &str) -> io::Result<End> {
    let write = |key: &str, value: &str| json!({"keyspace": KEYSPACE, "key": key, "value": value});
    let read = || json!({"keyspace": KEYSPACE, "key": HOT});
    match task {
        Task::Put => send(to, "PUT", &key_path(), value).map(end),
        Task::One => {
            let body = json!({"reads": [read()], "writes": [write(HOT, value)]});
            transaction(to, &body)
        }
        Task::Apart => {
            let writes = [write(HOT, value), write(OTHER, value)];
            transaction(to, &json!({"reads": [read()], "writes": writes}))
        }
        Task::Add => {
            let add = json!({"keyspace": KEYSPACE, "key": HOT, "add": 1});
            transaction(to, &json!({"writes": [add]}))
        }
        Task::Check => {
            let (status, body) = send(
                to,
                "POST",
                "/v1/txn",
                &json!({"reads": [read()]}).to_string(),
            )?;
            if status != 200 {
                return Ok(end((status, body)));
            }
            let answer: Value = serde_json::from_str(&body)?;
            let found = &answer["reads"][0];
            let next = next(found["value"].as_str().unwrap_or_default());
            let check = json!({"keyspace": KEYSPACE, "key": HOT, "version": found["version"]});
            transaction(
                to,
                &json!({"checks": [check], "writes": [write(HOT, &next)]}),
            )
        }
        Task::Steps => steps(to, "", Duration::ZERO),
        Task::Locked => steps(to, "?lock=true", Duration::ZERO),
        Task::Think => steps(to, "", Duration::from_millis(200)),
        Task::Row => Err(io::Error::other("PostgreSQL does not speak HTTP")),
    }
}

/// Status and body of the answer, as text.
fn send(to: &mut Client, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let (status, answer) = to.request(method, path, body.as_bytes())?;
    Ok((status, String::from_utf8_lossy(answer).into_owned()))
}

fn transaction(to: &mut Client, body: &Value) -> io::Result<End> {
    send(to, "POST", "/v1/txn", &body.to_string()).map(end)
}

fn end((status, body): (u16, String)) -> End {
    match status {
        200 | 201 | 204 => End::Done,
        // The number was changed since it was read.
        409 | 412 => End::Refused,
        status => End::Failed(status, body),
    }
}

fn next(number: &str) -> String {
    (number.parse().unwrap_or(0_u64) + 1).to_string()
}

/// Over several requests.
fn steps(to: &mut Client, query: &str, thinking: Duration) -> io::Result<End> {
    let (status, body) = send(to, "POST", "/v1/txn/begin", "")?;
    if status != 201 {
        return Ok(end((status, body)));
    }
    let started: Value = serde_json::from_str(&body)?;
    let id = started["id"].as_str().unwrap_or_default();
    let path = format!("/v1/txn/{id}/keyspaces/{KEYSPACE}/keys/{HOT}");
    let (status, number) = send(to, "GET", &format!("{path}{query}"), "")?;
    if status != 200 {
        return Ok(end((status, number)));
    }
    sleep(thinking);
    let (status, body) = send(to, "PUT", &path, &next(&number))?;
    if status != 202 {
        return Ok(end((status, body)));
    }
    let path = format!("/v1/txn/{id}/commit?first={KEYSPACE}/{HOT}");
    send(to, "POST", &path, "").map(end)
}
