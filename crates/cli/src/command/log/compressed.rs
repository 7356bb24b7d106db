//! What Dunlin's compressed batches save, as text and as JSON.

use dunlin_log::SegmentReport;
use dunlin_log::inspect::Stat;
use serde_json::{Map, Value};

use crate::units::{grouped, rounded};

/// Sums over compressed batches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compressed {
    batches: u64,
    records: u64,
    raw_bytes: u64,
    compressed_bytes: u64,
}

impl From<&Stat> for Compressed {
    fn from(stat: &Stat) -> Compressed {
        Compressed {
            batches: stat.compressed_batches,
            records: stat.batched_records,
            raw_bytes: stat.batch_raw_bytes,
            compressed_bytes: stat.batch_compressed_bytes,
        }
    }
}

impl From<&SegmentReport> for Compressed {
    fn from(segment: &SegmentReport) -> Compressed {
        Compressed {
            batches: segment.batches,
            records: segment.batched_records,
            raw_bytes: segment.batch_raw_bytes,
            compressed_bytes: segment.batch_compressed_bytes,
        }
    }
}

impl std::iter::Sum for Compressed {
    fn sum<I: Iterator<Item = Compressed>>(parts: I) -> Compressed {
        parts.fold(Compressed::default(), |sum, part| Compressed {
            batches: sum.batches + part.batches,
            records: sum.records + part.records,
            raw_bytes: sum.raw_bytes + part.raw_bytes,
            compressed_bytes: sum.compressed_bytes + part.compressed_bytes,
        })
    }
}

impl Compressed {
    /// A line; none when nothing is compressed.
    pub fn text(&self) -> Option<String> {
        let share = 100.0 * self.compressed_bytes as f64 / self.raw_bytes.max(1) as f64;
        (self.batches > 0).then(|| {
            format!(
                "compressed: {} records in {} batches, {} to {} ({share:.1} %)\n",
                grouped(self.records),
                grouped(self.batches),
                rounded(self.raw_bytes as f64),
                rounded(self.compressed_bytes as f64),
            )
        })
    }

    /// Adds its fields to an object.
    pub fn json(&self, object: &mut Map<String, Value>) {
        for (name, number) in [
            ("compressed_batches", self.batches),
            ("batched_records", self.records),
            ("batch_raw_bytes", self.raw_bytes),
            ("batch_compressed_bytes", self.compressed_bytes),
        ] {
            object.insert(name.to_owned(), number.into());
        }
    }
}
