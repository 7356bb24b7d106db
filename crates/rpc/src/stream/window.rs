//! Credit on the side that reads: what was granted is with the writer, is held here, or was read and is
//! about to be granted again. Pure.

/// The credit of one stream.
#[derive(Debug)]
pub(crate) struct Window {
    size: usize,
    /// What the writer may still send.
    with_writer: usize,
    /// What was read since credit was granted last.
    freed: usize,
}

impl Window {
    /// All of it is with the writer, who was told so when the stream was opened.
    pub fn new(size: usize) -> Self {
        Self {
            size,
            with_writer: size,
            freed: 0,
        }
    }

    /// Something came that costs so much; false when the writer had no credit for it.
    pub fn came(&mut self, cost: usize) -> bool {
        match self.with_writer.checked_sub(cost) {
            Some(left) => {
                self.with_writer = left;
                true
            }
            None => false,
        }
    }

    /// Something that cost so much was read. What to grant now, if it is worth a frame: half a window.
    pub fn read(&mut self, cost: usize) -> Option<usize> {
        self.freed += cost;
        if self.freed < self.size / 2 {
            return None;
        }
        let granted = std::mem::take(&mut self.freed);
        self.with_writer += granted;
        Some(granted)
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
