//! What the events of a file, or of several, add up to.

use super::{
    CompressedBatch,
    code::Use,
    detect::{InspectError, Settings},
    event::{Blank, Damage, End, Event, Physical, Reason, Record},
    verdict::Verdict,
    walk::Inspector,
    write_batch::WriteBatch,
};
use crate::segment::SegmentSettings;
use std::io::Read;

/// How many damages are kept; all are counted.
const DAMAGES_KEPT: usize = 1000;

/// Sums over the events of a log. `used_bytes` is the sum of `payload_bytes`, `header_bytes`,
/// `tail_bytes`, `padded_bytes`, `own_bytes`, `stray_bytes` and `skipped_bytes`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stat {
    /// The settings a Dunlin segment was begun with; none of other files, and of sums.
    pub settings: Option<SegmentSettings>,
    /// Whole logical records, those in Dunlin's compressed batches among them.
    pub records: u64,
    /// Payload bytes as they stand in the file: of records by themselves, and of batches.
    pub payload_bytes: u64,
    /// Bytes of the headers of their pieces.
    pub header_bytes: u64,
    /// How many records by themselves, and batches, are in 1, 2, 3, and 4 or more pieces.
    pub fragments: [u64; 4],
    /// Records that RocksDB compressed.
    pub compressed_records: u64,
    /// Dunlin's compressed batches.
    pub compressed_batches: u64,
    /// Records in them.
    pub batched_records: u64,
    /// Payload bytes of those records.
    pub batch_raw_bytes: u64,
    /// Payload bytes of the batches, a part of `payload_bytes`.
    pub batch_compressed_bytes: u64,
    /// Zeros at the end of a block, fewer than a header.
    pub tail_bytes: u64,
    /// Bytes left empty because the next record was to begin in a new block.
    pub padded_bytes: u64,
    /// Records that describe the log: Dunlin's headers, marks, pads; RocksDB's compression,
    /// timestamp sizes, predecessors; unknown ones that are safe to ignore.
    pub own_records: u64,
    /// Their bytes, headers included.
    pub own_bytes: u64,
    /// Bytes of whole physical records that belong to no whole logical record.
    pub stray_bytes: u64,
    /// Bytes that are in no physical record though they should be.
    pub skipped_bytes: u64,
    /// Blocks begun.
    pub blocks: u64,
    /// Bytes from the beginning to the end of the log, not of the file.
    pub used_bytes: u64,
    /// Bytes of the file behind the end of the log.
    pub unused_bytes: u64,
    /// What RocksDB's write batches among the payloads hold.
    pub batches: Batches,
    /// The first thousand damages.
    pub damages: Vec<Damage>,
    /// How many damages there are.
    pub damage_count: u64,
    /// How many of them, the last ones, nothing whole follows.
    pub torn_count: u64,
    /// Bytes of pieces not yet known to belong to a whole record.
    pending_bytes: u64,
}

/// RocksDB's write batches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Batches {
    /// Payloads that are write batches.
    pub batches: u64,
    /// Operations that change data.
    pub operations: u64,
    /// Bytes of their keys.
    pub key_bytes: u64,
    /// Bytes of their values.
    pub value_bytes: u64,
}

impl Stat {
    /// Reads a file to its end.
    ///
    /// # Errors
    /// [`InspectError`]: it is empty, no log, or cannot be read.
    pub fn read(source: impl Read, settings: &Settings) -> Result<Stat, InspectError> {
        let mut inspector = Inspector::new(source, settings)?;
        let mut stat = Stat::default();
        loop {
            let event = inspector.next_event()?;
            stat.add(&event, &inspector);
            if let Event::End(_) = event {
                return Ok(stat);
            }
        }
    }

    /// Adds the event that `inspector` has just reported.
    pub fn add<R: Read>(&mut self, event: &Event, inspector: &Inspector<R>) {
        let dunlin = inspector.is_dunlin();
        match event {
            Event::Physical(physical) => self.physical(physical, dunlin),
            Event::Record(record) if record.code.is_batch(dunlin) => {
                self.batch(record, inspector);
            }
            Event::Record(record) => self.record(record, inspector.payload()),
            Event::Own(_) => {}
            Event::Padding(span) => match span.kind {
                Blank::Tail => self.tail_bytes += span.bytes,
                Blank::Block => self.padded_bytes += span.bytes,
            },
            Event::Damage(damage) => self.damage(damage),
            Event::End(end) => {
                self.end(end, inspector.layout().block_size_bytes);
                self.settings = inspector.layout().settings;
            }
        }
    }

    fn physical(&mut self, physical: &Physical, dunlin: bool) {
        let bytes = u64::from(physical.header_bytes) + u64::from(physical.payload_bytes);
        self.torn_count = 0;
        match physical.code.meaning(dunlin) {
            Use::Data(_) => self.pending_bytes += bytes,
            _ => {
                self.own_records += 1;
                self.own_bytes += bytes;
            }
        }
    }

    /// What stands in the file by itself: a record or a batch.
    fn stored(&mut self, record: &Record) {
        let bytes = record.payload_bytes + record.header_bytes;
        // What came before it and is still pending never found its record.
        self.stray_bytes += self.pending_bytes.saturating_sub(bytes);
        self.pending_bytes = 0;
        self.payload_bytes += record.payload_bytes;
        self.header_bytes += record.header_bytes;
        let bucket = (record.fragments.clamp(1, 4) - 1) as usize;
        self.fragments[bucket] += 1;
    }

    fn batch<R: Read>(&mut self, record: &Record, inspector: &Inspector<R>) {
        self.stored(record);
        self.compressed_batches += 1;
        self.batch_compressed_bytes += record.payload_bytes;
        if let Some(head) = CompressedBatch::parse(inspector.payload()) {
            self.records += u64::from(head.count);
            self.batched_records += u64::from(head.count);
            self.batch_raw_bytes += head.payload_bytes();
        }
        for batch in inspector.batched().filter_map(WriteBatch::whole) {
            self.batches.add(&batch);
        }
    }

    fn record(&mut self, record: &Record, payload: &[u8]) {
        self.stored(record);
        self.records += 1;
        if record.compression.is_some() {
            self.compressed_records += 1;
        } else if !record.cut
            && let Some(batch) = WriteBatch::whole(payload)
        {
            self.batches.add(&batch);
        }
    }

    fn damage(&mut self, damage: &Damage) {
        self.damage_count += 1;
        match damage.reason {
            // It is a whole piece itself, and what it lacks is before it.
            Reason::NoBeginning => self.torn_count = 0,
            _ if damage.records_skipped => self.torn_count = 0,
            _ => self.torn_count += 1,
        }
        self.skipped_bytes += damage.skipped_bytes;
        if self.damages.len() < DAMAGES_KEPT {
            self.damages.push(*damage);
        }
    }

    fn end(&mut self, end: &End, block_size_bytes: u32) {
        self.stray_bytes += std::mem::take(&mut self.pending_bytes);
        self.used_bytes = end.offset;
        self.unused_bytes = end.unused_bytes;
        self.blocks = end.offset.div_ceil(u64::from(block_size_bytes));
    }

    /// Adds another file's sums. Its damages are counted, not taken over.
    pub fn absorb(&mut self, other: &Stat) {
        self.records += other.records;
        self.payload_bytes += other.payload_bytes;
        self.header_bytes += other.header_bytes;
        for (sum, count) in self.fragments.iter_mut().zip(other.fragments) {
            *sum += count;
        }
        self.compressed_records += other.compressed_records;
        self.compressed_batches += other.compressed_batches;
        self.batched_records += other.batched_records;
        self.batch_raw_bytes += other.batch_raw_bytes;
        self.batch_compressed_bytes += other.batch_compressed_bytes;
        self.tail_bytes += other.tail_bytes;
        self.padded_bytes += other.padded_bytes;
        self.own_records += other.own_records;
        self.own_bytes += other.own_bytes;
        self.stray_bytes += other.stray_bytes;
        self.skipped_bytes += other.skipped_bytes;
        self.blocks += other.blocks;
        self.used_bytes += other.used_bytes;
        self.unused_bytes += other.unused_bytes;
        self.batches.batches += other.batches.batches;
        self.batches.operations += other.batches.operations;
        self.batches.key_bytes += other.batches.key_bytes;
        self.batches.value_bytes += other.batches.value_bytes;
        self.damage_count += other.damage_count;
        self.torn_count += other.torn_count;
    }

    /// What is wrong with it.
    pub fn verdict(&self) -> Verdict {
        match (self.damage_count, self.torn_count) {
            (0, _) => Verdict::Whole,
            (all, torn) if all == torn => Verdict::Torn,
            _ => Verdict::Damaged,
        }
    }

    /// Share of the records by themselves, and batches, that are in more than one piece, 0 to 1.
    pub fn fragmented_share(&self) -> f64 {
        let [whole, split @ ..] = self.fragments;
        let split: u64 = split.iter().sum();
        ratio(split, whole + split).unwrap_or_default()
    }

    /// Bytes of the log for each byte of payload, before Dunlin compressed it; none without
    /// payload.
    pub fn write_amplification(&self) -> Option<f64> {
        let payload_bytes = self.payload_bytes - self.batch_compressed_bytes + self.batch_raw_bytes;
        ratio(self.used_bytes, payload_bytes)
    }

    /// Bytes of the log for each byte of key and value, when all payloads are write batches.
    pub fn user_amplification(&self) -> Option<f64> {
        let Batches {
            batches,
            key_bytes,
            value_bytes,
            ..
        } = self.batches;
        (batches == self.records)
            .then(|| ratio(self.used_bytes, key_bytes + value_bytes))
            .flatten()
    }
}

impl Batches {
    fn add(&mut self, batch: &WriteBatch<'_>) {
        self.batches += 1;
        for op in batch.ops().flatten().filter(|op| op.is_counted()) {
            self.operations += 1;
            self.key_bytes += op.key.len() as u64;
            self.value_bytes += op.value.len() as u64;
        }
    }
}

fn ratio(bytes: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| bytes as f64 / of as f64)
}
