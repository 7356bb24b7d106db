//! A change as streams tell it. Its line is written once, however many are told it.

use std::cell::{Cell, OnceCell};
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
    /// Whether its value is text, once that is known.
    is_text: OnceCell<bool>,
    /// How many streams hold it for clients.
    holders: Cell<u32>,
}

impl Change {
    /// Of an entry.
    pub fn new(entry: Entry) -> Rc<Change> {
        Rc::new(Change {
            entry,
            lines: Default::default(),
            is_text: OnceCell::new(),
            holders: Cell::new(0),
        })
    }

    /// Whether its value is text.
    pub(crate) fn is_text(&self) -> bool {
        let is_text = || std::str::from_utf8(&self.entry.value).is_ok();
        *self.is_text.get_or_init(is_text)
    }

    /// One more stream holds it; whether it is the first.
    pub(crate) fn hold(&self) -> bool {
        self.holders.replace(self.holders.get() + 1) == 0
    }

    /// One of them holds it no more; whether it was the last.
    pub(crate) fn let_go(&self) -> bool {
        self.holders.replace(self.holders.get() - 1) == 1
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
