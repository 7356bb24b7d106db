//! Three NATS servers with a key-value bucket of JetStream on all of them, as a rival.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::server::Server;
use super::{Cluster, ClusterError, Sync, directory, ports, ready};
use crate::interrupt::Interrupt;
use crate::load::nats::frame::Frame;
use crate::load::nats::{BUCKET, CONNECT, STREAM};

/// What the program is called.
pub const NAME: &str = "nats-server";
const SERVERS: u16 = 3;
const TIMEOUT: Duration = Duration::from_secs(5);

/// The program, when it has been built.
pub fn program() -> Option<PathBuf> {
    crate::program::rival(NAME)
}

/// Starts three servers, makes the bucket and waits until all of them follow its leader. With [`Sync::Never`] they
/// sync as they do by default: every two minutes.
///
/// # Errors
/// When they do not start.
pub fn start(parent: &Path, sync: Sync, interrupt: &Interrupt) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "nats")?;
    let base = ports::consecutive(2 * SERVERS)?;
    let mut cluster = Cluster {
        addresses: (base..base + SERVERS)
            .map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .collect(),
        servers: Vec::new(),
        helpers: Vec::new(),
        directory,
    };
    for index in 0..SERVERS {
        let name = format!("n{}", index + 1);
        let path = cluster.directory().join(format!("{name}.conf"));
        let data = cluster.directory().join(&name);
        fs::write(&path, configuration(&name, base, index, &data, sync))?;
        let mut command = Command::new(program().unwrap_or_else(|| NAME.into()));
        command.arg("--config").arg(&path);
        let log = cluster.directory().join(format!("{name}.log"));
        cluster.servers.push(Server::spawn(&name, command, log)?);
    }
    ready::wait("nats", &mut cluster, interrupt, |cluster| {
        cluster.addresses.first().map_or(Ok(()), |&address| {
            ask(address, "STREAM.CREATE", &bucket().to_string())?;
            let info = ask(address, "STREAM.INFO", "")?;
            follows(&info).then_some(()).ok_or(info.to_string())
        })?;
        // From every server there is a way to it.
        let mut addresses = cluster.addresses.iter();
        addresses.try_for_each(|&address| ask(address, "STREAM.INFO", "").map(|_| ()))
    })?;
    Ok(cluster)
}

fn configuration(name: &str, base: u16, index: u16, data: &Path, sync: Sync) -> String {
    let (client, route) = (base + index, base + SERVERS + index);
    let routes: Vec<String> = (base + SERVERS..base + 2 * SERVERS)
        .map(|port| format!("nats://127.0.0.1:{port}"))
        .collect();
    let sync = match sync {
        Sync::Always => "sync_interval: always",
        Sync::Never => "",
    };
    format!(
        "server_name: {name}\nlisten: \"127.0.0.1:{client}\"\n\
         jetstream {{ store_dir: {data:?}\n{sync} }}\n\
         cluster {{ name: bench, listen: \"127.0.0.1:{route}\", routes: [{}] }}\n",
        routes.join(", ")
    )
}

/// The stream that NATS' own clients make for a bucket of three replicas.
fn bucket() -> Value {
    json!({
        "name": STREAM,
        "subjects": [format!("$KV.{BUCKET}.>")],
        "num_replicas": SERVERS,
        "storage": "file",
        "retention": "limits",
        "discard": "new",
        "max_msgs_per_subject": 1,
        "max_msgs": -1,
        "max_bytes": -1,
        "max_age": 0,
        "max_msg_size": -1,
        "max_consumers": -1,
        "duplicate_window": 120_000_000_000_u64,
        "allow_rollup_hdrs": true,
        "deny_delete": true,
        "allow_direct": true,
    })
}

/// Whether there is a leader, and all others have what it has.
fn follows(info: &Value) -> bool {
    let cluster = &info["cluster"];
    let replicas = cluster["replicas"].as_array();
    let replicas = replicas.map_or(&[][..], Vec::as_slice);
    cluster["leader"].is_string()
        && replicas.len() + 1 == usize::from(SERVERS)
        && replicas.iter().all(|replica| replica["current"] == true)
}

/// Asks JetStream about the bucket's stream.
fn ask(address: SocketAddr, what: &str, payload: &str) -> Result<Value, String> {
    let subject = format!("$JS.API.{what}.{STREAM}");
    let answer = request(address, &subject, payload).map_err(|error| error.to_string())?;
    let answer: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
    match answer.get("error") {
        Some(error) => Err(format!("{subject}: {error}")),
        None => Ok(answer),
    }
}

/// One request on a connection of its own.
fn request(address: SocketAddr, subject: &str, payload: &str) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let length = payload.len();
    let text = format!(
        "{CONNECT}SUB _INBOX.ready 1\r\nPUB {subject} _INBOX.ready {length}\r\n{payload}\r\n"
    );
    stream.write_all(text.as_bytes())?;
    let (mut input, mut part) = (Vec::new(), [0; 16 * 1024]);
    loop {
        while let Some((frame, length)) = Frame::read(&input).map_err(std::io::Error::other)? {
            if let Frame::Message(message) = frame {
                return match message.status() {
                    Some(status) => Err(std::io::Error::other(format!("{subject}: {status}"))),
                    None => Ok(message.payload.to_vec()),
                };
            }
            input.drain(..length);
        }
        match stream.read(&mut part)? {
            0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            count => input.extend_from_slice(&part[..count]),
        }
    }
}

#[cfg(test)]
#[path = "nats_tests.rs"]
mod tests;
