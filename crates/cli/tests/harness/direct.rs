//! Requests without HTTP between, one by one, as no client of ours sends them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use dunlin_proto::{DirectReply, DirectRequest, DirectResponse};
use dunlin_rpc::{CallError, Caller, ConnectOptions, attach};

/// Runs something with its tasks on this thread.
pub fn local<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, run)
}

/// An upgraded connection.
pub struct Raw {
    caller: Caller<DirectRequest, DirectReply>,
    /// The shard that serves it, as `NODE/SHARD`.
    pub shard: String,
}

/// A connection that is upgraded, as bytes, and the head of the answer.
pub fn upgraded(authority: &str, headers: &str) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "GET /v1/direct HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: dunlin/1\r\n{headers}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    (stream, answer)
}

impl Raw {
    /// Connects to the server of this URL.
    pub fn at(url: &str, headers: &str) -> Raw {
        let authority = url.trim_start_matches("http://").trim_end_matches('/');
        let (stream, head) = upgraded(authority, headers);
        stream.set_nonblocking(true).unwrap();
        let stream = tokio::net::TcpStream::from_std(stream).unwrap();
        let shard = head
            .lines()
            .find_map(|line| line.strip_prefix("dunlin-shard: "));
        Raw {
            caller: attach(Box::new(stream), &ConnectOptions::default()),
            shard: shard.unwrap_or_default().to_owned(),
        }
    }

    /// What a request is answered, and where it is answered sooner.
    pub async fn reply(&self, request: DirectRequest) -> Result<DirectReply, CallError> {
        self.caller.call(request, Duration::from_secs(30)).await
    }

    /// What a request is answered.
    pub async fn try_ask(&self, request: DirectRequest) -> Result<DirectResponse, CallError> {
        Ok(self.reply(request).await?.response)
    }

    /// The same, tried again while there is no leader.
    pub async fn ask(&self, request: DirectRequest) -> DirectResponse {
        loop {
            match self.try_ask(request.clone()).await.unwrap() {
                DirectResponse::Refused(503, _) => {
                    tokio::time::sleep(Duration::from_millis(50)).await
                }
                answer => return answer,
            }
        }
    }

    /// The status and the line of a refusal.
    pub async fn refused(&self, request: DirectRequest) -> (u16, String) {
        match self.ask(request).await {
            DirectResponse::Refused(status, line) => (status, line),
            other => panic!("{other:?}"),
        }
    }
}
