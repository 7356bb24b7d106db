//! Batches in flight: the token of the longest acknowledged prefix is committed. Pure.

use std::collections::VecDeque;

/// A batch in flight.
#[derive(Debug)]
struct Batch<T> {
    number: u64,
    is_acknowledged: bool,
    /// Where the stream goes on behind it; none in the middle of one step of the stream.
    token: Option<T>,
}

/// Batches in the order in which they were read.
#[derive(Debug)]
pub(crate) struct Window<T> {
    batches: VecDeque<Batch<T>>,
    most: usize,
    next: u64,
}

impl<T> Window<T> {
    /// Of at most so many batches.
    pub fn new(most: usize) -> Window<T> {
        Window {
            batches: VecDeque::new(),
            most,
            next: 0,
        }
    }

    /// Whether another batch may be sent.
    pub fn has_room(&self) -> bool {
        self.batches.iter().filter(|b| !b.is_acknowledged).count() < self.most
    }

    /// A batch is sent; its number.
    pub fn push(&mut self, token: Option<T>) -> u64 {
        let number = self.next;
        self.next += 1;
        self.batches.push_back(Batch {
            number,
            is_acknowledged: false,
            token,
        });
        number
    }

    /// The stream has got further and gave nothing to send; the token, where all before it is acknowledged.
    pub fn pass(&mut self, token: T) -> Option<T> {
        match self.batches.back_mut() {
            Some(last) => {
                last.token = Some(token);
                None
            }
            None => Some(token),
        }
    }

    /// A batch is acknowledged; the newest token that all acknowledged batches reach up to, if there is a new one.
    pub fn acknowledge(&mut self, number: u64) -> Option<T> {
        let mut batches = self.batches.iter_mut();
        if let Some(batch) = batches.find(|batch| batch.number == number) {
            batch.is_acknowledged = true;
        }
        let mut reached = None;
        while self.batches.front().is_some_and(|b| b.is_acknowledged) {
            let token = self.batches.pop_front().and_then(|batch| batch.token);
            reached = token.or(reached);
        }
        reached
    }
}

#[cfg(test)]
#[path = "window_tests.rs"]
mod tests;
