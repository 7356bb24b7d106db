//! Direct I/O: unaligned writes made of whole, aligned pages. The last pages are kept, so that
//! appending never reads.

use super::DiskFile;
use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// What offsets, lengths and memory are multiples of, in bytes. No common device asks for more;
/// one that did would refuse the first read, and get ordinary I/O.
pub(crate) const PAGE: usize = 4096;
/// Copied and moved at once, in bytes.
const CHUNK: usize = 1 << 20;
/// Of what was written last, this much is kept, in bytes. Two pages: the log's next write begins
/// before the zero header that ends the last one, and that may reach into another page.
const KEPT: usize = 2 * PAGE;

/// A file whose bytes are moved past the page cache. It is for writing in order: what stands
/// behind a write in the same page becomes zero.
pub(crate) struct DirectFile<F> {
    /// Takes and gives whole pages in aligned memory only; reads less only at its end.
    file: F,
    state: Mutex<State>,
}

struct State {
    buffer: Aligned,
    /// The pages that were written last.
    kept: Vec<u8>,
    /// Where in the file they are.
    kept_offset: u64,
    /// Length of the file in bytes.
    length: u64,
}

impl<F: DiskFile> DirectFile<F> {
    /// # Errors
    /// `InvalidInput` when the file system refuses after all; else what the operating system says.
    pub(crate) fn new(file: F) -> io::Result<DirectFile<F>> {
        let length = file.len()?;
        let mut buffer = Aligned::default();
        // Some file systems take the flag and refuse the I/O.
        file.read_at(buffer.pages(PAGE), 0)?;
        Ok(DirectFile {
            file,
            state: Mutex::new(State {
                buffer,
                kept: Vec::new(),
                kept_offset: 0,
                length,
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<F: DiskFile> DiskFile for DirectFile<F> {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut state = self.lock();
        let mut filled = 0;
        while filled < buffer.len() {
            let (base, skip) = page_of(offset + filled as u64);
            let wanted = (buffer.len() - filled).min(CHUNK - skip);
            let pages = state.buffer.pages(skip + wanted);
            let read = self.file.read_at(pages, base)?;
            let Some(got) = pages.get(skip..read.min(skip + wanted)) else {
                break;
            };
            buffer[filled..filled + got.len()].copy_from_slice(got);
            filled += got.len();
            if got.len() < wanted {
                break;
            }
        }
        Ok(filled)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut state = self.lock();
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (base, skip) = page_of(at);
            let (piece, after) = rest.split_at(rest.len().min(CHUNK - skip));
            state.write(&self.file, base, skip, piece)?;
            at += piece.len() as u64;
            rest = after;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.lock().length)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.kept.clear();
        self.file.set_len(len)?;
        state.length = len;
        Ok(())
    }

    fn allocate(&self, len: u64) -> io::Result<()> {
        let mut state = self.lock();
        self.file.allocate(len)?;
        state.length = self.file.len()?;
        Ok(())
    }
}

impl State {
    /// Writes a piece that begins `skip` bytes into the page at `base`.
    fn write(
        &mut self,
        file: &impl DiskFile,
        base: u64,
        skip: usize,
        piece: &[u8],
    ) -> io::Result<()> {
        let end = skip + piece.len();
        let pages = self.buffer.pages(end);
        if skip > 0 {
            let kept = base
                .checked_sub(self.kept_offset)
                .and_then(|distance| self.kept.get(distance as usize..)?.get(..skip));
            match kept {
                Some(kept) => pages[..skip].copy_from_slice(kept),
                None => {
                    let read = file.read_at(&mut pages[..PAGE], base)?;
                    if read < skip {
                        pages[read..skip].fill(0);
                    }
                }
            }
        }
        pages[skip..end].copy_from_slice(piece);
        pages[end..].fill(0);
        file.write_at(pages, base)?;
        let reached = base + pages.len() as u64;
        if reached > self.length {
            // Whole pages may reach beyond what was asked for.
            self.length = self.length.max(base + end as u64);
            if self.length < reached {
                file.set_len(self.length)?;
            }
        }
        // Only now: what a failed write left behind is not what the page is to hold.
        let from = pages.len().saturating_sub(KEPT);
        self.kept_offset = base + from as u64;
        self.kept.clear();
        self.kept.extend_from_slice(&pages[from..]);
        Ok(())
    }
}

/// The page of an offset, and where in it that is.
fn page_of(offset: u64) -> (u64, usize) {
    let skip = offset % PAGE as u64;
    (offset - skip, skip as usize)
}

/// Memory that begins at a multiple of the page size: more is allocated and the beginning skipped.
#[derive(Default)]
struct Aligned {
    bytes: Vec<u8>,
}

impl Aligned {
    /// The whole pages that `length` bytes take. What is in them is left from earlier.
    fn pages(&mut self, length: usize) -> &mut [u8] {
        let length = length.next_multiple_of(PAGE);
        if self.bytes.len() < length + PAGE {
            self.bytes = vec![0; length + PAGE];
        }
        let start = self.bytes.as_ptr().addr().wrapping_neg() % PAGE;
        &mut self.bytes[start..start + length]
    }
}

#[cfg(test)]
#[path = "direct_tests.rs"]
mod tests;
