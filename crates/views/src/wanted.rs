//! What is asked of an index, as value and as bytes. `docs/formats.md`, section 16.

use std::sync::Arc;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_changes::wire::{Malformed, get_bytes, get_flag, put_bytes};
use dunlin_entry::Vector;

/// Rows between two places, the first with it, the last without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Range {
    pub lower: Vec<u8>,
    /// Empty where there is none.
    pub upper: Vec<u8>,
}

/// How rows are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// All to one.
    All,
    /// Those of a key.
    Exact,
    /// Those whose keys, arrays, begin with the same elements, so many.
    Level(u16),
}

/// What is wanted of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Number of the keyspace.
    pub keyspace: u32,
    /// Number of the view.
    pub view: u32,
    pub partitions: Vec<u16>,
    /// In the order in which they are wanted.
    pub ranges: Arc<[Range]>,
    /// The number of the first of these among all ranges of the query.
    pub first_range: u32,
    /// More ranges come later.
    pub has_more: bool,
    pub descending: bool,
    /// Rows where there is none.
    pub group: Option<Group>,
    /// Ranges are of whole keys, of which what is kept of them will do.
    pub by_keys: bool,
    /// More rows than this are not wanted.
    pub rows_max: u64,
    /// What must be in the index of each partition, where all up to now must.
    pub targets: Option<Vec<(u16, Vector)>>,
}

impl Wanted {
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u32_le(self.keyspace);
        out.put_u32_le(self.view);
        out.put_u8(self.descending.into());
        out.put_u8(self.by_keys.into());
        out.put_u64_le(self.rows_max);
        let (group, level) = match self.group {
            None => (0, 0),
            Some(Group::All) => (1, 0),
            Some(Group::Exact) => (2, 0),
            Some(Group::Level(level)) => (3, level),
        };
        out.put_u8(group);
        out.put_u16_le(level);
        out.put_u16_le(self.partitions.len() as u16);
        self.partitions.iter().for_each(|p| out.put_u16_le(*p));
        put_ranges(&mut out, self.first_range, self.has_more, &self.ranges);
        out.put_u8(self.targets.is_some().into());
        for (partition, vector) in self.targets.iter().flatten() {
            out.put_u16_le(*partition);
            put_bytes(&mut out, &vector.encode());
        }
        out.freeze()
    }

    pub fn decode(mut body: Bytes) -> Result<Wanted, Malformed> {
        let bytes = &mut body;
        let keyspace = bytes.try_get_u32_le().map_err(|_| Malformed)?;
        let view = bytes.try_get_u32_le().map_err(|_| Malformed)?;
        let descending = get_flag(bytes)?;
        let by_keys = get_flag(bytes)?;
        let rows_max = bytes.try_get_u64_le().map_err(|_| Malformed)?;
        let group = bytes.try_get_u8().map_err(|_| Malformed)?;
        let level = bytes.try_get_u16_le().map_err(|_| Malformed)?;
        let group = match group {
            0 => None,
            1 => Some(Group::All),
            2 => Some(Group::Exact),
            3 => Some(Group::Level(level)),
            _ => return Err(Malformed),
        };
        let count = bytes.try_get_u16_le().map_err(|_| Malformed)?;
        let partition = |_| bytes.try_get_u16_le().map_err(|_| Malformed);
        let partitions = (0..count).map(partition).collect::<Result<_, _>>()?;
        let (first_range, has_more, ranges) = get_ranges(bytes)?;
        let mut targets = get_flag(bytes)?.then(Vec::new);
        if let Some(targets) = &mut targets {
            while bytes.has_remaining() {
                let partition = bytes.try_get_u16_le().map_err(|_| Malformed)?;
                let vector = Vector::decode(&get_bytes(bytes)?).map_err(|_| Malformed)?;
                targets.push((partition, vector));
            }
        }
        Ok(Wanted {
            keyspace,
            view,
            partitions,
            ranges,
            first_range,
            has_more,
            descending,
            group,
            by_keys,
            rows_max,
            targets,
        })
    }
}

/// The number of the first of some ranges, whether more come behind them, and these.
pub(crate) type Ranges = (u32, bool, Arc<[Range]>);

/// Writes ranges, from which number on, and whether more come.
pub(crate) fn put_ranges(out: &mut BytesMut, first: u32, has_more: bool, ranges: &[Range]) {
    out.put_u32_le(first);
    out.put_u8(has_more.into());
    out.put_u32_le(ranges.len() as u32);
    for range in ranges {
        put_bytes(out, &range.lower);
        put_bytes(out, &range.upper);
    }
}

/// Reads them.
pub(crate) fn get_ranges(bytes: &mut Bytes) -> Result<Ranges, Malformed> {
    let first = bytes.try_get_u32_le().map_err(|_| Malformed)?;
    let has_more = get_flag(bytes)?;
    let count = bytes.try_get_u32_le().map_err(|_| Malformed)?;
    let mut ranges = Vec::new();
    for _ in 0..count {
        ranges.push(Range {
            lower: get_bytes(bytes)?.to_vec(),
            upper: get_bytes(bytes)?.to_vec(),
        });
    }
    Ok((first, has_more, ranges.into()))
}

#[cfg(test)]
#[path = "wanted_tests.rs"]
mod tests;
