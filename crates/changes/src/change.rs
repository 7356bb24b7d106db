//! A change as streams tell it. Its line is written once, however many are told it.

use std::cell::OnceCell;
use std::ops::Deref;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use dunlin_entry::Entry;

/// Bytes of its key and value.
pub(crate) fn bytes_of(entry: &Entry) -> usize {
    entry.key.len() + entry.value.len()
}

/// A change.
#[derive(Debug)]
pub struct Change {
    entry: Entry,
    /// As it is told with its value, and without.
    lines: [OnceCell<Bytes>; 2],
}

impl Change {
    /// Of an entry.
    pub fn new(entry: Entry) -> Rc<Change> {
        let lines = Default::default();
        Rc::new(Change { entry, lines })
    }

    /// Its line, written by `write` where it was not written before.
    pub(crate) fn line(
        self: &Rc<Self>,
        keys_only: bool,
        out: &mut BytesMut,
        write: impl FnOnce(&mut BytesMut),
    ) {
        // What a value with an end is depends on when it is told. And who alone has it needs no line of it.
        if self.entry.expiry_ms.is_some() || Rc::strong_count(self) == 1 {
            return write(out);
        }
        let line = self.lines[usize::from(keys_only)].get_or_init(|| {
            let mut line = BytesMut::with_capacity(self.entry.value.len() + 256);
            write(&mut line);
            line.freeze()
        });
        out.extend_from_slice(line);
    }

    /// What it takes of memory, without its lines, roughly.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Change>() + bytes_of(&self.entry)
    }
}

impl Deref for Change {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.entry
    }
}

impl PartialEq for Change {
    fn eq(&self, other: &Change) -> bool {
        self.entry == other.entry
    }
}
