//! Memory of values that a request reads for its client: counted in `--request-memory`, and bounded.

use std::cell::{Cell, RefCell};

use dunlin_node::Failure;
use dunlin_node::plug::Memory;

/// The values that one request has read.
pub(crate) struct Budget {
    memory: RefCell<Memory>,
    bytes: Cell<usize>,
    bytes_max: usize,
}

impl Budget {
    /// Nothing as yet; so many bytes at most.
    pub fn new(memory: Memory, bytes_max: usize) -> Budget {
        Budget {
            memory: RefCell::new(memory),
            bytes: Cell::new(0),
            bytes_max,
        }
    }

    /// Bytes that were read.
    pub fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// So many were read, whether or not there is room: they are here already.
    pub fn hold(&self, bytes: usize) {
        self.memory.borrow_mut().set(bytes);
        self.bytes.set(bytes);
    }

    /// So many more were read.
    ///
    /// # Errors
    /// When that is more than a request may read, or than there is memory for.
    pub fn grow(&self, more: usize) -> Result<(), Failure> {
        let bytes = self.bytes.get() + more;
        if bytes > self.bytes_max {
            return Err(Failure::TooLarge(format!(
                "a transaction reads at most {} bytes in one request (setting txn read bytes): nothing happened; read fewer keys at a time",
                self.bytes_max
            )));
        }
        self.memory.borrow_mut().grow(more)?;
        self.bytes.set(bytes);
        Ok(())
    }
}
