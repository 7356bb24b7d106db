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

/// What a client has been told so far.
#[derive(Debug)]
pub struct Ticks {
    tag: u8,
    seen: Vec<u64>,
    told: Told,
    begun: Instant,
}

impl Ticks {
    /// Of keys with a tag.
    pub fn new(tag: u8) -> Ticks {
        Ticks {
            tag,
            seen: Vec::new(),
            told: Told::default(),
            begun: Instant::now(),
        }
    }

    /// The number of a key, if it is one of the load's.
    pub fn number(&self, key: &[u8]) -> Option<u64> {
        number_of_key(key, self.tag)
    }

    /// So many bytes have come in all.
    pub fn set_bytes(&mut self, bytes: u64) {
        if self.told.bytes == 0 && bytes > 0 {
            self.told.first_line = self.begun.elapsed();
        }
        self.told.bytes = bytes;
    }

    /// A key was told, with its value.
    pub fn tick(&mut self, number: u64) {
        self.told.changes += 1;
        let (word, bit) = ((number / 64) as usize, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1024, 0);
        }
        self.told.keys += u64::from(self.seen[word] & bit == 0);
        self.seen[word] |= bit;
    }

    /// Whether all has been told, or nobody waits any more.
    pub fn is_done(&mut self, shared: &Shared) -> bool {
        let keys = shared.keys.load(Relaxed);
        if keys > 0 && self.told.keys >= keys {
            self.told.complete = Some(Instant::now());
            return true;
        }
        shared.is_over.load(Relaxed)
    }

    /// What it was.
    pub fn told(&self) -> Told {
        self.told
    }
}

/// Follows a node from the beginning until it has been told all keys, whose tag is `tag`.
///
/// # Errors
/// When the node cannot be reached or breaks off.
pub fn follow(node: SocketAddr, tag: u8, shared: &Shared) -> std::io::Result<Told> {
    let mut stream = TcpStream::connect(node)?;
    stream.set_read_timeout(Some(LOOK))?;
    // HTTP/1.0: not chunked.
    stream.write_all(
        b"GET /v1/keyspaces/default/changes?from=beginning HTTP/1.0\r\nHost: bench\r\n\r\n",
    )?;
    let mut reader = BufReader::with_capacity(256 << 10, stream);
    let (mut line, mut ticks, mut bytes) = (Vec::new(), Ticks::new(tag), 0);
    loop {
        match reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(ticks.told()),
            Ok(_) if line.last() == Some(&b'\n') => {}
            Ok(_) => return Ok(ticks.told()),
            Err(error) if is_late(&error) => {}
            Err(error) => return Err(error),
        }
        if line.last() == Some(&b'\n') {
            bytes += line.len() as u64;
            ticks.set_bytes(bytes);
            if let Some(number) = number_of(&line, tag) {
                ticks.tick(number);
            }
            line.clear();
        }
        if ticks.is_done(shared) {
            return Ok(ticks.told());
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
    if value.starts_with(b"\",\"value") {
        number_of_key(key, tag)
    } else {
        None
    }
}

fn number_of_key(key: &[u8], tag: u8) -> Option<u64> {
    let (first, digits) = key.split_first()?;
    let digits = std::str::from_utf8(digits).ok()?;
    let number = u64::from_str_radix(digits, 16).ok();
    number.filter(|_| *first == tag)
}
