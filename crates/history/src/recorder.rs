//! Takes operations down from many threads, in one order.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::{Kind, Moment, Operation, Outcome, Value};

/// A history in the making.
#[derive(Debug, Default)]
pub struct Recorder {
    last: AtomicU64,
    operations: Mutex<Vec<Operation>>,
}

impl Recorder {
    /// The next place in the order of all beginnings and ends. Of two threads, one that saw
    /// something happen in the other before it asked gets the later one.
    pub fn moment(&self) -> Moment {
        self.last.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// An operation begins. Call this before its first byte is sent.
    pub fn begin(&self, process: u64, key: &str, kind: Kind) -> Call<'_> {
        let operation = Operation {
            process,
            key: key.to_owned(),
            kind,
            invoked: self.moment(),
            outcome: Outcome::Unknown { until: None },
            note: String::new(),
        };
        let recorder = self;
        Call {
            recorder,
            operation: Some(operation),
        }
    }

    /// Everything that has ended by now.
    pub fn operations(&self) -> Vec<Operation> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Operation>> {
        self.operations
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// An operation under way. Dropped, it counts as unknown.
#[derive(Debug)]
pub struct Call<'a> {
    recorder: &'a Recorder,
    operation: Option<Operation>,
}

impl Call<'_> {
    /// Something a reader may want to know of it.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        if let Some(operation) = &mut self.operation {
            operation.note = note.into();
        }
        self
    }

    /// It happened. Call this, as the other ends, after the answer's last byte has come.
    pub fn ok(self) {
        let returned = self.recorder.moment();
        self.end(Outcome::Ok { returned });
    }

    /// A read found this.
    pub fn found(mut self, value: Option<Value>) {
        if let Some(operation) = &mut self.operation {
            operation.kind = Kind::Get(value);
        }
        self.ok();
    }

    /// A swap found another value than it expected.
    pub fn unmet(self) {
        let returned = self.recorder.moment();
        self.end(Outcome::Unmet { returned });
    }

    /// It did not happen and will not.
    pub fn failed(self) {
        self.end(Outcome::Failed);
    }

    /// It may happen still, or have happened, or never.
    pub fn unknown(self) {
        self.end(Outcome::Unknown { until: None });
    }

    /// As unknown, but it has not happened after `until`.
    pub fn unknown_until(self, until: Moment) {
        self.end(Outcome::Unknown { until: Some(until) });
    }

    fn end(mut self, outcome: Outcome) {
        if let Some(operation) = &mut self.operation {
            operation.outcome = outcome;
        }
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.recorder.lock().extend(self.operation.take());
    }
}
