//! The inspector: blocks to physical records, and what stands between them.

use super::{
    SegmentHeader,
    code::{Code, Use},
    detect::{Form, InspectError, Layout, PREFIX_BYTES, Settings, detect},
    event::{Blank, Damage, End, Event, Own, PaddingSpan, Physical, Reason, Record, Rest},
    gather::Gather,
    physical::{At, Found, any_behind, number_at, parse},
};
use crate::{
    batch::{PAYLOAD_BYTES_MAX, Unpacker},
    block::{LEGACY_HEADER, RECYCLABLE_HEADER},
    segment::mark,
};
use std::{
    collections::VecDeque,
    io::{self, Read},
    ops::Range,
};

/// Reads a log file from its beginning and reports what is in it.
///
/// Memory: one block, one logical record up to `Settings::record_bytes_max`, the first 256 KiB of
/// the file, and one compressed batch decompressed, 64 MiB at most.
pub struct Inspector<R> {
    source: io::Chain<io::Cursor<Vec<u8>>, R>,
    layout: Layout,
    /// Whether records carry the log's number: then bytes without it are of an earlier life.
    numbered: bool,
    compression: Option<u32>,
    /// The block that is looked at, shorter than a block at the end of the file.
    block: Vec<u8>,
    /// Where it begins in the file.
    base: u64,
    /// What is looked at next, within the block.
    at: usize,
    /// Where bytes began that are the end of the log, unless a record follows.
    gap: Option<Gap>,
    gather: Gather,
    /// Payload of the last record, when that is in the block.
    payload: Option<Range<usize>>,
    /// The last compressed batch.
    unpacker: Unpacker,
    queue: VecDeque<Event>,
    ended: Option<End>,
}

/// Bytes that may be the end of the log.
#[derive(Debug, Clone, Copy)]
struct Gap {
    offset: u64,
    /// Only zeros so far.
    zeros: bool,
    /// Log number of the first thing that is not zero.
    number: Option<u32>,
}

impl<R: Read> Inspector<R> {
    /// Reads the first bytes and finds out what the file is.
    ///
    /// # Errors
    /// [`InspectError`]: the file is empty or no log, or cannot be read.
    pub fn new(mut source: R, settings: &Settings) -> Result<Inspector<R>, InspectError> {
        let wanted = PREFIX_BYTES.max(settings.block_size_bytes as usize);
        let mut prefix = Vec::new();
        source
            .by_ref()
            .take(wanted as u64)
            .read_to_end(&mut prefix)?;
        let layout = detect(&prefix, settings)?;
        Ok(Inspector {
            source: io::Cursor::new(prefix).chain(source),
            numbered: layout.form == Form::Dunlin,
            layout,
            compression: None,
            block: Vec::new(),
            base: 0,
            at: 0,
            gap: None,
            gather: Gather::new(settings.record_bytes_max),
            payload: None,
            unpacker: Unpacker::default(),
            queue: VecDeque::new(),
            ended: None,
        })
    }

    /// How the file is laid out. The log number may become known only with the first record.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether it is a Dunlin segment.
    pub fn is_dunlin(&self) -> bool {
        self.layout.form == Form::Dunlin
    }

    /// Bytes of the record that the last event reported: its beginning only, when `Record::cut`.
    pub fn payload(&self) -> &[u8] {
        match &self.payload {
            Some(range) => self.block.get(range.clone()).unwrap_or_default(),
            None => &self.gather.bytes,
        }
    }

    /// The records of the compressed batch that the last event reported, when it is one of Dunlin's
    /// and is not cut.
    pub fn batched(&self) -> impl Iterator<Item = &[u8]> {
        self.unpacker.records()
    }

    /// The number that this log's records carry, when they do.
    fn carried(&self) -> Option<u32> {
        self.layout.number.filter(|_| self.numbered)
    }

    /// The next event. After `Event::End` it is that again.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn next_event(&mut self) -> io::Result<Event> {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return Ok(event);
            }
            if let Some(end) = self.ended {
                return Ok(Event::End(end));
            }
            self.step()?;
        }
    }

    /// Looks at one thing; what it is goes into the queue.
    fn step(&mut self) -> io::Result<()> {
        let dunlin = self.is_dunlin();
        let left = self.block.len() - self.at;
        if left == 0 {
            return self.next_block();
        }
        let whole = self.block.len() == self.layout.block_size_bytes as usize;
        let rest = &self.block[self.at..];
        let is_zero = rest.iter().take(RECYCLABLE_HEADER).all(|&byte| byte == 0);
        let header = if dunlin || (self.numbered && is_zero) {
            RECYCLABLE_HEADER
        } else {
            LEGACY_HEADER
        };
        if left < header {
            // What was not reached by a record was not left empty on purpose either; but where
            // zeros are padding, the beginning of a header may follow them.
            let unreached = self.gap.is_some_and(|gap| dunlin || whole || !gap.zeros);
            match (whole, is_zero) {
                _ if unreached => self.skip_to_gap(),
                (true, _) => self.padding(left, Blank::Tail),
                (false, true) => self.skip_to_gap(),
                (false, false) => self.damage(left, Reason::Short),
            }
            return Ok(());
        }
        match parse(&self.block, self.at, dunlin, whole) {
            At::Record(found) => self.found(found)?,
            At::Zero => self.nothing(whole, Reason::Hole),
            At::Invalid(reason) => self.invalid(whole, reason),
        }
        Ok(())
    }

    /// A record whose checksum fits: of this log, or of an earlier life of the file.
    fn found(&mut self, found: Found) -> io::Result<()> {
        let dunlin = self.is_dunlin();
        self.numbered |= found.number.is_some();
        match (self.layout.number, found.number) {
            (Some(ours), Some(number)) if ours != number => {
                self.skip_to_gap();
                return Ok(());
            }
            (_, None) if dunlin => {
                self.skip_to_gap();
                return Ok(());
            }
            (None, Some(number)) => self.layout.number = Some(number),
            _ => {}
        }
        let bytes = found.payload.end - self.at;
        let meaning = found.code.meaning(dunlin);
        if meaning == Use::Unknown {
            self.damage(bytes, Reason::Type(found.code.0));
            return Ok(());
        }
        self.close_gap();
        let offset = self.base + self.at as u64;
        let physical = Physical {
            offset,
            code: found.code,
            header_bytes: found.header_bytes as u32,
            payload_bytes: found.payload.len() as u32,
        };
        self.at = found.payload.end;
        if let Use::Data(part) = meaning {
            let piece = Record {
                offset,
                end: offset + bytes as u64,
                code: found.code,
                payload_bytes: u64::from(physical.payload_bytes),
                header_bytes: u64::from(physical.header_bytes),
                fragments: 1,
                cut: false,
                compression: self.compression,
            };
            let payload = &self.block[found.payload.clone()];
            let (damage, record) = self.gather.take(part, piece, payload);
            // Old writers left an empty first piece at a block's end; nothing is lost with it.
            let harmless = |damage: &Damage| !dunlin && damage.lost_bytes == 0;
            let damage = damage.filter(|damage| !harmless(damage)).map(Event::Damage);
            // What a piece cuts off was lost before it; a piece too many is lost with it.
            let (before, after) = match &damage {
                Some(Event::Damage(lost)) if lost.reason == Reason::NoEnd => (damage, None),
                _ => (None, damage),
            };
            self.queue.extend(before);
            self.queue.push_back(Event::Physical(physical));
            self.queue.extend(after);
            if let Some(record) = record {
                self.payload = (record.fragments == 1).then_some(found.payload);
                let event = self.whole(record)?;
                self.queue.push_back(event);
            }
            return Ok(());
        }
        if dunlin {
            let begun = self.gather.give_up();
            self.queue.extend(begun.map(Event::Damage));
        }
        self.queue.push_back(Event::Physical(physical));
        let own = self.describe(meaning, offset, found.payload);
        self.queue.push_back(Event::Own(own));
        if meaning == Use::Pad {
            let left = self.block.len() - self.at;
            self.padding(left, Blank::Block);
        }
        Ok(())
    }

    /// A logical record whose last piece has come, unless it is a batch that is none.
    fn whole(&mut self, record: Record) -> io::Result<Event> {
        self.unpacker.clear();
        if !record.code.is_batch(self.is_dunlin()) {
            return Ok(Event::Record(record));
        }
        let payload = match &self.payload {
            Some(range) => self.block.get(range.clone()).unwrap_or_default(),
            None => &self.gather.bytes,
        };
        let fits = if record.cut {
            record.payload_bytes <= PAYLOAD_BYTES_MAX as u64
        } else {
            self.unpacker.unpack(payload)?.is_some()
        };
        Ok(if fits {
            Event::Record(record)
        } else {
            Event::Damage(Damage {
                offset: record.offset,
                skipped_bytes: 0,
                lost_bytes: record.payload_bytes,
                records_skipped: false,
                reason: Reason::Batch,
            })
        })
    }

    /// What a record that holds no data says.
    fn describe(&mut self, meaning: Use, offset: u64, payload: Range<usize>) -> Own {
        let payload = self.block.get(payload).unwrap_or_default();
        match meaning {
            Use::SegmentHeader => Own::Header(SegmentHeader::decode(payload)),
            Use::SyncMark => Own::SyncMark(mark::decode(payload, offset)),
            Use::Pad => Own::Pad,
            Use::Compression => {
                let named = payload.first_chunk().map(|code| u32::from_le_bytes(*code));
                self.compression = named.filter(|&code| code != 0);
                Own::Compression(named)
            }
            _ => Own::Other,
        }
    }

    /// A zero header: the end, unless records follow.
    fn nothing(&mut self, whole: bool, reason: Reason) {
        let rest = &self.block[self.at..];
        let behind = match self.carried() {
            _ if rest.iter().all(|&byte| byte == 0) => false,
            // Zeros are padding or the end, and nothing else stands behind them.
            None => true,
            Some(_) => self.records_behind(whole),
        };
        if behind {
            self.damage(rest.len(), reason)
        } else {
            self.skip_to_gap()
        }
    }

    /// Whether the rest of the block holds a record that begins further on.
    fn records_behind(&self, whole: bool) -> bool {
        any_behind(
            &self.block,
            self.at + 1,
            self.layout.number,
            self.carried().is_some(),
            self.is_dunlin(),
            whole,
        )
    }

    /// Bytes that are no record. Of a log whose records carry its number they are the end, unless
    /// that number stands there too, or records follow.
    fn invalid(&mut self, whole: bool, reason: Reason) {
        let rest = &self.block[self.at..];
        let there = number_at(rest);
        match self.carried() {
            // Where a block has no room for a number, no record was begun in this life.
            Some(ours) if there.map_or(whole, |there| there != ours) => self.nothing(whole, reason),
            _ => self.damage(rest.len(), reason),
        }
    }

    /// The rest of the block is the end of the log, or a gap in it.
    fn skip_to_gap(&mut self) {
        let rest = &self.block[self.at..];
        let zeros = rest.iter().all(|&byte| byte == 0);
        let number = match parse(rest, 0, self.is_dunlin(), true) {
            At::Record(found) => found.number,
            _ => None,
        };
        let offset = self.base + self.at as u64;
        let gap = self.gap.get_or_insert(Gap {
            offset,
            zeros: true,
            number: None,
        });
        gap.zeros &= zeros;
        gap.number = gap.number.or(number);
        self.at = self.block.len();
    }

    /// Something of this log follows: the gap was padding, or is damage.
    fn close_gap(&mut self) {
        let Some(gap) = self.gap.take() else {
            return;
        };
        let bytes = self.base + self.at as u64 - gap.offset;
        // Dunlin says where it pads; others only leave zeros, though never within a record.
        if gap.zeros && !self.is_dunlin() && !self.gather.is_begun() {
            self.queue.push_back(Event::Padding(PaddingSpan {
                offset: gap.offset,
                bytes,
                kind: Blank::Block,
            }));
            return;
        }
        let reason = if gap.zeros {
            Reason::Hole
        } else {
            Reason::Number
        };
        self.lost(Damage {
            offset: gap.offset,
            skipped_bytes: bytes,
            lost_bytes: 0,
            records_skipped: false,
            reason,
        });
    }

    fn padding(&mut self, bytes: usize, kind: Blank) {
        if bytes > 0 {
            self.queue.push_back(Event::Padding(PaddingSpan {
                offset: self.base + self.at as u64,
                bytes: bytes as u64,
                kind,
            }));
        }
        self.at += bytes;
    }

    fn damage(&mut self, bytes: usize, reason: Reason) {
        self.close_gap();
        let to_block_end = self.at + bytes == self.block.len();
        let whole = self.block.len() == self.layout.block_size_bytes as usize;
        let records_skipped = to_block_end && self.records_behind(whole);
        self.lost(Damage {
            offset: self.base + self.at as u64,
            skipped_bytes: bytes as u64,
            lost_bytes: 0,
            records_skipped,
            reason,
        });
        self.at += bytes;
    }

    /// Damage, and with it the record it interrupts.
    fn lost(&mut self, damage: Damage) {
        let begun = self.gather.give_up();
        self.queue
            .extend(begun.into_iter().chain([damage]).map(Event::Damage));
    }

    fn next_block(&mut self) -> io::Result<()> {
        self.base += self.block.len() as u64;
        self.at = 0;
        self.payload = None;
        self.block.clear();
        let size = u64::from(self.layout.block_size_bytes);
        self.source
            .by_ref()
            .take(size)
            .read_to_end(&mut self.block)?;
        if self.block.is_empty() {
            self.finish();
        }
        Ok(())
    }

    /// The file is at its end.
    fn finish(&mut self) {
        let begun = self.gather.give_up();
        self.queue.extend(begun.map(Event::Damage));
        let offset = self.gap.map_or(self.base, |gap| gap.offset);
        let end = End {
            offset,
            unused_bytes: self.base - offset,
            rest: match self.gap {
                None => Rest::Nothing,
                Some(gap) if gap.zeros => Rest::Zeros,
                Some(gap) => Rest::Stale { number: gap.number },
            },
        };
        self.ended = Some(end);
    }

    /// The name of a type byte in this file.
    pub fn type_name(&self, code: Code) -> &'static str {
        code.name(self.is_dunlin())
    }
}
