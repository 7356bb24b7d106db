//! A store in memory behind the HTTP of a node, on a thread of its own.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;

/// Decides about a request before the store sees it: a status to answer instead, or a delay.
pub type Gate = Arc<dyn Fn(&Method, &[u8], usize) -> Verdict + Send + Sync>;

pub enum Verdict {
    Serve,
    ServeAfter(Duration),
    Answer(u16),
}

#[derive(Default)]
pub struct Inner {
    pub values: BTreeMap<Vec<u8>, (u64, Bytes)>,
    pub requests: Vec<String>,
    version: u64,
}

pub struct Store {
    pub url: String,
    pub inner: Arc<Mutex<Inner>>,
}

impl Store {
    pub fn start() -> Store {
        Store::gated(Arc::new(|_, _, _| Verdict::Serve))
    }

    /// `gate` gets method, key and the number of requests before this one.
    pub fn gated(gate: Gate) -> Store {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let inner: Arc<Mutex<Inner>> = Arc::default();
        let shared = Arc::clone(&inner);
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                while let Ok((stream, _)) = listener.accept().await {
                    let (shared, gate) = (Arc::clone(&shared), Arc::clone(&gate));
                    let service = service_fn(move |request| {
                        answer(request, Arc::clone(&shared), Arc::clone(&gate))
                    });
                    let connection = hyper::server::conn::http1::Builder::new();
                    tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
                }
            });
        });
        Store { url, inner }
    }

    pub fn value(&self, key: &str) -> Option<String> {
        let inner = self.inner.lock().unwrap();
        inner
            .values
            .get(key.as_bytes())
            .map(|(_, value)| String::from_utf8(value.to_vec()).unwrap())
    }

    pub fn len(&self) -> usize {
        self.inner.lock().unwrap().values.len()
    }

    pub fn requests(&self) -> Vec<String> {
        self.inner.lock().unwrap().requests.clone()
    }
}

async fn answer(
    request: Request<Incoming>,
    shared: Arc<Mutex<Inner>>,
    gate: Gate,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let path = parts.uri.path().to_owned();
    let key = path
        .split_once("/keys/")
        .map(|(_, key)| percent_encoding::percent_decode_str(key).collect::<Vec<u8>>());
    let before = {
        let mut inner = shared.lock().unwrap();
        inner
            .requests
            .push(format!("{} {}", parts.method, parts.uri));
        inner.requests.len() - 1
    };
    match gate(&parts.method, key.as_deref().unwrap_or_default(), before) {
        Verdict::Serve => {}
        Verdict::ServeAfter(delay) => tokio::time::sleep(delay).await,
        Verdict::Answer(status) => return Ok(error(status, "the gate says no")),
    }
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .map(|v| v.to_str().unwrap().to_owned())
    };
    let mut inner = shared.lock().unwrap();
    Ok(match (parts.method, key) {
        (Method::PUT, Some(key)) => {
            let present = inner
                .values
                .get(&key)
                .map(|(version, _)| format!("\"{version}\""));
            let wanted = header("if-match");
            if (wanted.is_some() && wanted != present)
                || (header("if-none-match").is_some() && present.is_some())
            {
                return Ok(error(412, "the key has another version"));
            }
            inner.version += 1;
            let version = inner.version;
            inner.values.insert(key, (version, body));
            with_version(201, version, Bytes::new())
        }
        (Method::GET, Some(key)) => match inner.values.get(&key) {
            Some((version, value)) => with_version(200, *version, value.clone()),
            None => Response::builder()
                .status(404)
                .body(Full::default())
                .unwrap(),
        },
        (Method::DELETE, Some(key)) => {
            inner.values.remove(&key);
            Response::builder()
                .status(202)
                .body(Full::default())
                .unwrap()
        }
        (Method::GET, None) if path.ends_with("/keys") => {
            let mut body = String::new();
            for (key, (version, value)) in &inner.values {
                let (key, value) = (String::from_utf8_lossy(key), String::from_utf8_lossy(value));
                let line =
                    serde_json::json!({"key": key, "value": value, "version": version.to_string()});
                body.push_str(&format!("{line}\n"));
            }
            Response::new(Full::new(body.into()))
        }
        _ => error(404, "keyspace \"unknown\" does not exist"),
    })
}

fn with_version(status: u16, version: u64, body: Bytes) -> Response<Full<Bytes>> {
    Response::builder()
        .status(status)
        .header("Dunlin-Version", version.to_string())
        .body(Full::new(body))
        .unwrap()
}

fn error(status: u16, reason: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({ "error": reason }).to_string();
    Response::builder()
        .status(status)
        .body(Full::new(body.into()))
        .unwrap()
}
