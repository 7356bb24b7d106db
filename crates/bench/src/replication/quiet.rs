//! Clients of a keyspace that nobody writes. They are told next to nothing, and all are read by one thread.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// How often all are looked at.
const LOOK: Duration = Duration::from_millis(500);
/// The keyspace.
pub const KEYSPACE: &str = "quiet";

/// So many clients that follow from now on, at one node after another.
///
/// # Errors
/// When a node does not take them.
pub fn connect(nodes: &[SocketAddr], clients: usize) -> std::io::Result<Vec<TcpStream>> {
    let request = format!("GET /v1/keyspaces/{KEYSPACE}/changes HTTP/1.0\r\nHost: bench\r\n\r\n");
    let mut streams = Vec::new();
    for client in 0..clients {
        let mut stream = TcpStream::connect(nodes[client % nodes.len()])?;
        stream.write_all(request.as_bytes())?;
        streams.push(stream);
    }
    for stream in &mut streams {
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        if &head != b"HTTP/1.0 200" && &head != b"HTTP/1.1 200" {
            let said = String::from_utf8_lossy(&head).into_owned();
            return Err(std::io::Error::other(format!("a quiet stream: {said}")));
        }
        stream.set_nonblocking(true)?;
    }
    Ok(streams)
}

/// Reads what they are told until the load is over; how many are still connected then.
pub fn read(streams: Vec<TcpStream>, is_over: &AtomicBool) -> usize {
    let mut live = streams;
    let mut bytes = vec![0; 64 << 10];
    while !is_over.load(Relaxed) {
        std::thread::sleep(LOOK);
        live.retain_mut(|stream| {
            loop {
                match stream.read(&mut bytes) {
                    Ok(0) => return false,
                    Ok(_) => {}
                    Err(error) => return error.kind() == ErrorKind::WouldBlock,
                }
            }
        });
    }
    live.len()
}
