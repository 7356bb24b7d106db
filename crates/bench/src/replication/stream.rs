//! A stream client: it ticks off every key that it is told, with its value.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::load::key::KEY_LENGTH;

/// It looks at least so often whether it is to end.
const LOOK: Duration = Duration::from_millis(200);

/// What all clients and the load know of each other.
#[derive(Debug, Default)]
pub struct Shared {
    /// How many keys there are to be told, once the load is over.
    pub keys: AtomicU64,
    /// Nobody is waited for any more.
    pub is_over: AtomicBool,
}

/// What a client was told.
#[derive(Debug, Clone, Copy, Default)]
pub struct Told {
    /// Different keys.
    pub keys: u64,
    /// Changes, those that came again among them.
    pub changes: u64,
    /// Bytes of lines.
    pub bytes: u64,
    /// When it had all, if it did.
    pub complete: Option<Instant>,
    /// Until the first line.
    pub first_line: Duration,
}

/// Follows a node from the beginning until it has been told all keys, whose tag is `tag`.
///
/// # Errors
/// When the node cannot be reached or breaks off.
pub fn follow(node: SocketAddr, tag: u8, shared: &Shared) -> std::io::Result<Told> {
    let begun = Instant::now();
    let mut stream = TcpStream::connect(node)?;
    stream.set_read_timeout(Some(LOOK))?;
    // HTTP/1.0: not chunked.
    stream.write_all(
        b"GET /v1/keyspaces/default/changes?from=beginning HTTP/1.0\r\nHost: bench\r\n\r\n",
    )?;
    let mut reader = BufReader::with_capacity(256 << 10, stream);
    let (mut line, mut seen, mut told) = (Vec::new(), Vec::<u64>::new(), Told::default());
    loop {
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(told),
            Ok(_) if line.last() == Some(&b'\n') => {}
            Ok(_) => return Ok(told),
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
        if line.last() == Some(&b'\n') {
            if told.bytes == 0 {
                told.first_line = begun.elapsed();
            }
            told.bytes += line.len() as u64;
            if let Some(number) = number_of(&line, tag) {
                told.changes += 1;
                let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
                if seen.len() <= word {
                    seen.resize(word + 1024, 0);
                }
                told.keys += u64::from(seen[word] & bit == 0);
                seen[word] |= bit;
            }
            line.clear();
        }
        let keys = shared.keys.load(Relaxed);
        if keys > 0 && told.keys >= keys {
            told.complete = Some(Instant::now());
            return Ok(told);
        }
        if shared.is_over.load(Relaxed) {
            return Ok(told);
        }
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
    )
}

/// The number of a change's key, if it is one of the load's and has a value.
pub fn number_of(line: &[u8], tag: u8) -> Option<u64> {
    let head = &line[..line.len().min(80)];
    if !head.starts_with(b"{\"event\":\"change\"") {
        return None;
    }
    let mark = b"\"key\":\"";
    let at = head.windows(mark.len()).position(|w| w == mark)? + mark.len();
    let key = line.get(at..at + KEY_LENGTH)?;
    let value = line.get(at + KEY_LENGTH..)?;
    if key[0] != tag || !value.starts_with(b"\",\"value") {
        return None;
    }
    let digits = std::str::from_utf8(&key[1..]).ok()?;
    u64::from_str_radix(digits, 16).ok()
}
