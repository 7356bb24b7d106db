//! Where the bytes come from: a file or standard input, counted as they are read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::failure::Failure;

/// Large enough that system calls do not show in a profile.
const BUFFER_BYTES: usize = 256 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// An input that is open for reading.
pub struct Input {
    /// Its bytes, without a UTF-8 byte order mark.
    pub reader: Box<dyn BufRead + Send>,
    /// Its size in bytes, when it is a file.
    pub size_bytes: Option<u64>,
    /// Bytes read so far.
    pub read_bytes: Arc<AtomicU64>,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    pub fn open(path: &Path) -> Result<Input, Failure> {
        if path == Path::new("-") {
            return Input::new(io::stdin(), None).map_err(|error| Failure::file(path, &error));
        }
        let open = || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::from(io::ErrorKind::IsADirectory));
            }
            Input::new(file, metadata.is_file().then_some(metadata.len()))
        };
        open().map_err(|error| Failure::file(path, &error))
    }

    /// An input of any bytes.
    pub fn new(reader: impl Read + Send + 'static, size_bytes: Option<u64>) -> io::Result<Input> {
        let read_bytes = Arc::new(AtomicU64::new(0));
        let counted = Counted {
            reader,
            read_bytes: Arc::clone(&read_bytes),
        };
        let reader = without_mark(counted)?;
        Ok(Input {
            reader,
            size_bytes,
            read_bytes,
        })
    }
}

/// A pipe may deliver the mark byte by byte, so three bytes are read before it is judged.
fn without_mark(mut reader: impl Read + Send + 'static) -> io::Result<Box<dyn BufRead + Send>> {
    let mut head = Vec::with_capacity(BYTE_ORDER_MARK.len());
    reader
        .by_ref()
        .take(BYTE_ORDER_MARK.len() as u64)
        .read_to_end(&mut head)?;
    if head == BYTE_ORDER_MARK {
        head.clear();
    }
    let joined = io::Cursor::new(head).chain(reader);
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, joined)))
}

struct Counted<R> {
    reader: R,
    read_bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        self.read_bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
