//! Stands in for the `dunlin` binary with a map in memory and no replication: tests the bench
//! itself, and shows what the generator alone can reach (`dunlin-bench quorum --dunlin
//! target/release/examples/stand_in`).
#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

#[derive(Default)]
struct Store {
    values: Mutex<HashMap<Vec<u8>, Vec<u8>>>,
    puts: AtomicU64,
}

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if arguments.iter().any(|argument| argument == "--version") {
        println!("stand-in 0");
        return Ok(());
    }
    let flag = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let port = |text: &String| text.rsplit(':').next().and_then(|port| port.parse().ok());
    // `up` has three nodes that share the map; `serve` has one, and knows nothing of others.
    let (base, nodes): (Option<u16>, u16) = match flag("--http") {
        Some(address) => (port(address), 1),
        None => (flag("--http-port").and_then(port), 3),
    };
    let base = base.ok_or_else(|| std::io::Error::other("--http-port PORT is missing"))?;
    let store = Arc::new(Store::default());
    let listeners: Vec<TcpListener> = (base..base + nodes)
        .map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)))
        .collect::<Result<_, _>>()?;
    let threads: Vec<_> = listeners
        .into_iter()
        .map(|listener| {
            let store = store.clone();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let store = store.clone();
                    thread::spawn(move || serve(stream, &store));
                }
            })
        })
        .collect();
    for thread in threads {
        let _ = thread.join();
    }
    Ok(())
}

/// Serves one connection; ends it at the first thing it does not understand.
fn serve(mut stream: TcpStream, store: &Store) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut input = vec![0; 1 << 20];
    let mut filled = 0;
    loop {
        while let Some((head, body)) = request(&input[..filled]) {
            let line = input[..head].split(|&byte| byte == b'\r').next()?.to_vec();
            let answer = answer(&line, &input[head..head + body], store);
            stream.write_all(&answer).ok()?;
            if line.ends_with(b"HTTP/1.0") {
                return None;
            }
            input.copy_within(head + body..filled, 0);
            filled -= head + body;
        }
        let count = stream.read(&mut input[filled..]).ok()?;
        if count == 0 {
            return None;
        }
        filled += count;
    }
}

/// Lengths of head and body of the request at the front, once it is complete.
fn request(input: &[u8]) -> Option<(usize, usize)> {
    let head = input.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&input[..head]).ok()?;
    let body = text
        .lines()
        .find_map(|line| line.strip_prefix("Content-Length: "))
        .map_or(0, |length| length.parse().unwrap_or(0));
    (input.len() >= head + body).then_some((head, body))
}

fn answer(line: &[u8], body: &[u8], store: &Store) -> Vec<u8> {
    let mut words = line.split(|&byte| byte == b' ');
    let (method, path) = (words.next().unwrap_or(b""), words.next().unwrap_or(b""));
    let with = |status: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    };
    // The keyspace that keeps one copy is there from the start, and its keys are its own.
    let entity = path.strip_prefix(b"/v0/entity?id=").map(|key| (key, b'&'));
    let named = path.strip_prefix(b"/v1/keyspaces/");
    let is_of_keyspace =
        |key: &&[u8]| key.starts_with(b"one-copy/keys/") || key.starts_with(b"transactional/keys/");
    let of_keyspace = named.filter(is_of_keyspace);
    let Some((query, mark)) = entity.or(of_keyspace.map(|key| (key, b'?'))) else {
        let puts = store.puts.load(Ordering::Relaxed);
        return match path {
            b"/health" | b"/v1/keyspaces/one-copy" => with("200 OK", b""),
            b"/v1/keyspaces" => with("201 Created", b""),
            b"/metrics" => {
                let text = format!(
                    "dunlin_log_records_total{{shard=\"0\"}} {puts}\n\
                     dunlin_log_syncs_total{{shard=\"0\"}} {}\n",
                    puts / 4
                );
                with("200 OK", text.as_bytes())
            }
            _ => with("400 Bad Request", b""),
        };
    };
    let key = query.split(|&byte| byte == mark).next().unwrap_or(b"");
    let mut values = store.values.lock().unwrap_or_else(PoisonError::into_inner);
    match method {
        b"PUT" => {
            store.puts.fetch_add(1, Ordering::Relaxed);
            values.insert(key.to_vec(), body.to_vec());
            with("201 Created", b"")
        }
        b"GET" => match values.get(key) {
            Some(value) => with("200 OK", value),
            None => with("404 Not Found", b""),
        },
        _ => with("405 Method Not Allowed", b""),
    }
}
