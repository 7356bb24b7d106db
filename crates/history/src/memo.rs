//! Where a search has been already.

use std::collections::HashSet;

/// Which bounded steps are behind us.
#[derive(Debug)]
pub(crate) struct Behind {
    words: Vec<u64>,
    /// No word from here on has a bit.
    top: usize,
}

impl Behind {
    pub(crate) fn new(count: usize) -> Behind {
        Behind {
            words: vec![0; count / 64 + 1],
            top: 0,
        }
    }

    pub(crate) fn insert(&mut self, index: usize) {
        self.words[index / 64] |= 1 << (index % 64);
        self.top = self.top.max(index / 64 + 1);
    }

    pub(crate) fn remove(&mut self, index: usize) {
        self.words[index / 64] &= !(1 << (index % 64));
        while self.top > 0 && self.words[self.top - 1] == 0 {
            self.top -= 1;
        }
    }
}

/// Configurations of a search from which all ways have been tried, or are being tried.
#[derive(Debug, Default)]
pub(crate) struct Memo {
    seen: HashSet<Box<[u64]>>,
    key: Vec<u64>,
}

impl Memo {
    /// Whether this is the first visit. `first` is the first step that is not behind; everything
    /// that follows from a configuration follows from these four.
    pub(crate) fn insert(
        &mut self,
        behind: &Behind,
        first: usize,
        used: &[u32],
        state: u64,
    ) -> bool {
        self.key.clear();
        self.key.push(first as u64);
        self.key.push(state);
        self.key.extend(used.iter().map(|count| u64::from(*count)));
        // All words before that of `first` are full.
        let window = behind.words[..behind.top].get(first / 64..);
        self.key.extend(window.unwrap_or_default());
        !self.seen.contains(self.key.as_slice()) && self.seen.insert(self.key.as_slice().into())
    }
}
