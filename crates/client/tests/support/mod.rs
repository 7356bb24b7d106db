//! A small hyper server whose answers a test chooses.

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Bytes,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, v)| v.as_str())
    }
}

/// What to do with a request.
pub enum Answer {
    Reply(Response<Chunks>),
    /// Close the connection without an answer.
    Hang,
    /// Never answer.
    Stall,
}

type Script = Arc<dyn Fn(&Seen) -> Answer + Send + Sync>;

/// A body sent piece by piece; an error breaks the connection.
pub struct Chunks(pub VecDeque<Result<Bytes, std::io::Error>>);

impl Chunks {
    pub fn one(bytes: impl Into<Bytes>) -> Chunks {
        Chunks(VecDeque::from([Ok(bytes.into())]))
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        Poll::Ready(self.0.pop_front().map(|piece| piece.map(Frame::data)))
    }
}

pub fn reply(status: u16, body: impl Into<Bytes>) -> Answer {
    Answer::Reply(
        Response::builder()
            .status(status)
            .body(Chunks::one(body))
            .unwrap(),
    )
}

pub fn versioned(status: u16, version: &str, body: impl Into<Bytes>) -> Answer {
    let response = Response::builder()
        .status(status)
        .header("Dunlin-Version", version)
        .header("ETag", format!("\"{version}\""));
    Answer::Reply(response.body(Chunks::one(body)).unwrap())
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    /// Serves on a port of the system's choice until the runtime ends.
    pub async fn start(script: impl Fn(&Seen) -> Answer + Send + Sync + 'static) -> Server {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let script: Script = Arc::new(script);
        let record = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (script, record) = (Arc::clone(&script), Arc::clone(&record));
                let service = service_fn(move |request| {
                    answer(request, Arc::clone(&script), Arc::clone(&record))
                });
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Server { url, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    script: Script,
    record: Arc<Mutex<Vec<Seen>>>,
) -> Result<Response<Chunks>, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = body
        .collect()
        .await
        .map_err(std::io::Error::other)?
        .to_bytes();
    let headers = parts
        .headers
        .iter()
        .map(|(n, v)| (n.to_string(), v.to_str().unwrap().to_owned()))
        .collect();
    let seen = Seen {
        line: format!("{} {}", parts.method, parts.uri),
        headers,
        body,
    };
    record.lock().unwrap().push(seen.clone());
    match script(&seen) {
        Answer::Reply(response) => Ok(response),
        Answer::Hang => Err(std::io::Error::other("hang up")),
        Answer::Stall => {
            let never: Infallible = std::future::pending().await;
            match never {}
        }
    }
}
