//! Token: where a follower of a keyspace goes on, valid at any replica. `docs/formats.md`, section 13.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Vector;
use dunlin_message::DecodeError;

use crate::address::ShardAddress;
use crate::text::{from_text, to_text};
use crate::wire::{get_bytes, get_u8, get_u16, get_u32, get_u64, malformed, put_bytes};

/// The one there is.
const FORM: u8 = 1;
/// Longer texts are not looked at.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// Where a follower of a keyspace goes on.
///
/// The vector of a partition means: every entry of it with a position at or below the vector has been
/// delivered, or something that beats it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The cluster's id; 0 of one that has none.
    pub cluster: u128,
    /// Number of the keyspace.
    pub keyspace: u32,
    /// Only keys that begin with this were wanted, and nothing is said of any others.
    pub prefix: Bytes,
    /// Where this stands in replicas' logs, and of which partitions each says so. No partition is named twice.
    hints: Vec<(Hint, Vec<u16>)>,
    groups: Vec<Group>,
    /// The partitions of whose stored records only a beginning has been delivered.
    within: BTreeMap<u16, Within>,
}

/// A place within the snapshot of a partition: of the keys before `next` all has been delivered that
/// `vector` names, of the others what the token's own vector of the partition names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Within {
    /// Whether what the snapshot does not name is gone.
    pub is_complete: bool,
    /// What the records delivered so far reflect.
    pub vector: Vector,
    /// The first key that is still to come.
    pub next: Bytes,
}

/// All that the log of one shard has of its partitions up to a record has been delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hint {
    /// Whose log.
    pub shard: ShardAddress,
    /// In which start of its node.
    pub incarnation: u32,
    /// Up to which record; it is on disk there.
    pub index: u64,
}

/// Partitions that are equally far.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Group {
    vector: Vector,
    /// Ascending.
    partitions: Vec<u16>,
}

/// Why a token cannot be gone on from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is no token: take it as it was given, whole.
    #[error("this is no token: {0}")]
    Malformed(String),
    /// It was cut or changed on its way: take it as it was given.
    #[error("the token is damaged: its checksum is wrong")]
    Damaged,
    /// A newer build made it: ask a node of that build.
    #[error("the token is of form {0}, which this version does not know")]
    Form(u8),
    /// It cannot be used here: begin anew.
    #[error("the token is of another cluster ({theirs:032x}, this one is {ours:032x})")]
    Cluster {
        /// The token's.
        theirs: u128,
        /// The one asked.
        ours: u128,
    },
    /// It cannot be used for this keyspace: begin anew, or ask for the keyspace that it is of.
    #[error("the token is of keyspace number {theirs}, not {ours}")]
    Keyspace {
        /// The token's.
        theirs: u32,
        /// The one asked for.
        ours: u32,
    },
    /// The log was put back to before the token: begin anew.
    #[error(
        "the token is of a later state than there is: the directory of {0} was put back to an earlier one"
    )]
    PutBack(ShardAddress),
    /// It says nothing of the other keys: ask for those that it is of, or begin anew.
    #[error("the token is of keys that begin with \"{theirs}\", and says nothing of others")]
    Prefix {
        /// The token's.
        theirs: String,
    },
}

impl Token {
    /// Of partitions and how far each is; the hint is of all of them.
    pub fn new(
        cluster: u128,
        keyspace: u32,
        hint: Option<Hint>,
        vectors: impl IntoIterator<Item = (u16, Vector)>,
    ) -> Token {
        let vectors: BTreeMap<u16, Vector> = vectors.into_iter().collect();
        let partitions: Vec<u16> = vectors.keys().copied().collect();
        let hint = hint.filter(|_| !partitions.is_empty());
        let mut groups: Vec<Group> = Vec::new();
        for (partition, vector) in vectors {
            match groups.iter_mut().find(|group| group.vector == vector) {
                Some(group) => group.partitions.push(partition),
                None => groups.push(Group {
                    vector,
                    partitions: vec![partition],
                }),
            }
        }
        Token {
            cluster,
            keyspace,
            prefix: Bytes::new(),
            hints: hint.map(|hint| (hint, partitions)).into_iter().collect(),
            groups,
            within: BTreeMap::new(),
        }
    }

    /// The same within the snapshot of a partition, or behind its end.
    pub fn set_within(&mut self, partition: u16, within: Option<Within>) {
        match within {
            Some(within) => self.within.insert(partition, within),
            None => self.within.remove(&partition),
        };
    }

    /// Where it stands within the snapshot of a partition, if it does.
    pub fn within(&self, partition: u16) -> Option<&Within> {
        self.within.get(&partition)
    }

    /// How far a partition is, as far as it is named.
    pub fn vector(&self, partition: u16) -> Option<&Vector> {
        let mut groups = self.groups.iter();
        let group = groups.find(|group| group.partitions.binary_search(&partition).is_ok());
        group.map(|group| &group.vector)
    }

    /// Whether it names no partition.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Sets how far a partition is; hints stay, for what a log was read for stays read.
    pub fn set_vector(&mut self, partition: u16, vector: Vector) {
        for group in &mut self.groups {
            group.partitions.retain(|named| *named != partition);
        }
        self.groups.retain(|group| !group.partitions.is_empty());
        self.add_group(&vector, &[partition]);
    }

    /// Nothing of a partition has been delivered, whatever it said.
    pub fn forget(&mut self, partition: u16) {
        self.retain(|named| named != partition);
        self.add_group(&Vector::new(), &[partition]);
    }

    fn add_group(&mut self, vector: &Vector, partitions: &[u16]) {
        match self.groups.iter_mut().find(|own| own.vector == *vector) {
            Some(own) => {
                own.partitions.extend(partitions);
                own.partitions.sort_unstable();
            }
            None => self.groups.push(Group {
                vector: vector.clone(),
                partitions: partitions.to_vec(),
            }),
        }
        self.groups
            .sort_by_key(|group| group.partitions.first().copied());
    }

    /// Goes on with what a token of some of the partitions says of these.
    pub fn advance(&mut self, other: &Token) {
        let named: BTreeSet<u16> = other.vectors().map(|(partition, _)| partition).collect();
        self.retain(|partition| !named.contains(&partition));
        for group in &other.groups {
            self.add_group(&group.vector, &group.partitions);
        }
        let within = other.within.iter();
        self.within
            .extend(within.map(|(partition, within)| (*partition, within.clone())));
        self.hints.extend(other.hints.iter().cloned());
    }

    /// The same of these partitions alone, as far as it names them.
    #[must_use]
    pub fn narrow(mut self, partitions: &[u16]) -> Token {
        let kept: BTreeSet<u16> = partitions.iter().copied().collect();
        self.retain(|partition| kept.contains(&partition));
        self
    }

    fn retain(&mut self, keeps: impl Fn(u16) -> bool) {
        for group in &mut self.groups {
            group.partitions.retain(|partition| keeps(*partition));
        }
        self.groups.retain(|group| !group.partitions.is_empty());
        for (_, partitions) in &mut self.hints {
            partitions.retain(|partition| keeps(*partition));
        }
        self.hints.retain(|(_, partitions)| !partitions.is_empty());
        self.within.retain(|partition, _| keeps(*partition));
    }

    /// Up to where a shard's log was read for all these partitions, as far as it says so.
    pub fn hint(&self, shard: ShardAddress, partitions: &[u16]) -> Option<Hint> {
        let of_shard = || self.hints.iter().filter(|(hint, _)| hint.shard == shard);
        let is_named = |partition| of_shard().any(|(_, named)| named.contains(partition));
        let least = of_shard().map(|(hint, _)| *hint).min_by_key(|h| h.index)?;
        let is_one = of_shard().all(|(hint, _)| hint.incarnation == least.incarnation);
        (is_one && partitions.iter().all(is_named)).then_some(least)
    }

    /// All that it says of a shard's log.
    pub fn hints_of(&self, shard: ShardAddress) -> impl Iterator<Item = Hint> + '_ {
        let hints = self.hints.iter().map(|(hint, _)| *hint);
        hints.filter(move |hint| hint.shard == shard)
    }

    /// The shards of whose logs it says anything.
    pub fn hinted_shards(&self) -> BTreeSet<ShardAddress> {
        self.hints.iter().map(|(hint, _)| hint.shard).collect()
    }

    /// Whether it names all these partitions.
    pub fn names(&self, partitions: &[u16]) -> bool {
        let named: BTreeSet<u16> = self.vectors().map(|(partition, _)| partition).collect();
        partitions.iter().all(|partition| named.contains(partition))
    }

    /// How far each partition is.
    pub fn vectors(&self) -> impl Iterator<Item = (u16, &Vector)> + '_ {
        self.groups.iter().flat_map(|group| {
            let partitions = group.partitions.iter();
            partitions.map(|partition| (*partition, &group.vector))
        })
    }

    /// Refuses what is of another cluster or keyspace.
    ///
    /// # Errors
    /// [`TokenError::Cluster`], [`TokenError::Keyspace`].
    pub fn check(&self, cluster: u128, keyspace: u32) -> Result<(), TokenError> {
        if self.cluster != cluster {
            return Err(TokenError::Cluster {
                theirs: self.cluster,
                ours: cluster,
            });
        }
        if self.keyspace != keyspace {
            return Err(TokenError::Keyspace {
                theirs: self.keyspace,
                ours: keyspace,
            });
        }
        Ok(())
    }

    /// Refuses to go on with keys that the token says nothing of.
    ///
    /// # Errors
    /// [`TokenError::Prefix`].
    pub fn check_prefix(&self, prefix: &[u8]) -> Result<(), TokenError> {
        if prefix.starts_with(&self.prefix) {
            return Ok(());
        }
        let theirs = self.prefix.escape_ascii().to_string();
        Err(TokenError::Prefix { theirs })
    }

    /// Its bytes, which its text stands for.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(FORM);
        out.put_u128_le(self.cluster);
        out.put_u32_le(self.keyspace);
        put_bytes(&mut out, &self.prefix);
        out.put_u16_le(self.hints.len() as u16);
        for (hint, partitions) in &self.hints {
            hint.shard.encode(&mut out);
            out.put_u32_le(hint.incarnation);
            out.put_u64_le(hint.index);
            put_partitions(&mut out, partitions);
        }
        out.put_u16_le(self.groups.len() as u16);
        for group in &self.groups {
            put_partitions(&mut out, &group.partitions);
            put_bytes(&mut out, &group.vector.encode());
        }
        out.put_u16_le(self.within.len() as u16);
        for (partition, within) in &self.within {
            out.put_u16_le(*partition);
            out.put_u8(within.is_complete.into());
            put_bytes(&mut out, &within.vector.encode());
            put_bytes(&mut out, &within.next);
        }
        out.put_u32_le(crc32c::crc32c(&out));
        out.freeze()
    }

    /// Reads them.
    ///
    /// # Errors
    /// [`TokenError::Malformed`], [`TokenError::Damaged`], [`TokenError::Form`].
    pub fn decode(mut bytes: Bytes) -> Result<Token, TokenError> {
        let malformed = |what: &dyn fmt::Display| TokenError::Malformed(what.to_string());
        match bytes.first() {
            None => return Err(malformed(&"it is empty")),
            Some(&FORM) => {}
            Some(form) => return Err(TokenError::Form(*form)),
        }
        let Some(length) = bytes.len().checked_sub(4) else {
            return Err(TokenError::Damaged);
        };
        let mut sum = bytes.split_off(length);
        if sum.get_u32_le() != crc32c::crc32c(&bytes) {
            return Err(TokenError::Damaged);
        }
        Self::decode_body(&mut bytes).map_err(|error| malformed(&error))
    }

    fn decode_body(bytes: &mut Bytes) -> Result<Token, DecodeError> {
        get_u8(bytes)?;
        let cluster = bytes.try_get_u128_le().map_err(malformed)?;
        let keyspace = get_u32(bytes)?;
        let prefix = get_bytes(bytes)?;
        let (mut hints, mut hinted) = (Vec::new(), BTreeSet::new());
        for _ in 0..get_u16(bytes)? {
            let hint = Hint {
                shard: ShardAddress::decode(bytes)?,
                incarnation: get_u32(bytes)?,
                index: get_u64(bytes)?,
            };
            hints.push((hint, get_partitions(bytes, &mut hinted)?));
        }
        let (mut groups, mut all) = (Vec::new(), BTreeSet::new());
        for _ in 0..get_u16(bytes)? {
            let partitions = get_partitions(bytes, &mut all)?;
            let vector = Vector::decode(&get_bytes(bytes)?).map_err(malformed)?;
            groups.push(Group { vector, partitions });
        }
        let mut within = BTreeMap::new();
        for _ in 0..get_u16(bytes)? {
            let partition = get_u16(bytes)?;
            let place = Within {
                is_complete: get_u8(bytes)? != 0,
                vector: Vector::decode(&get_bytes(bytes)?).map_err(malformed)?,
                next: get_bytes(bytes)?,
            };
            if !all.contains(&partition) || within.insert(partition, place).is_some() {
                return Err(malformed(
                    "a snapshot is of a partition that it does not name",
                ));
            }
        }
        if !bytes.is_empty() {
            return Err(malformed("something stands behind it"));
        }
        if !hinted.is_subset(&all) {
            return Err(malformed("a hint is of partitions that it does not name"));
        }
        Ok(Token {
            cluster,
            keyspace,
            prefix,
            hints,
            groups,
            within,
        })
    }
}

/// Numbers of partitions, ascending.
fn put_partitions(out: &mut BytesMut, partitions: &[u16]) {
    let ranges = ranges(partitions);
    out.put_u16_le(ranges.len() as u16);
    for (first, last) in ranges {
        out.put_u16_le(first);
        out.put_u16_le(last);
    }
}

/// Reads them; each may be among `all` once, so that few bytes do not become a lot of memory.
fn get_partitions(bytes: &mut Bytes, all: &mut BTreeSet<u16>) -> Result<Vec<u16>, DecodeError> {
    let unordered = || malformed("its partitions are out of order");
    let mut partitions = Vec::new();
    for _ in 0..get_u16(bytes)? {
        let (first, last) = (get_u16(bytes)?, get_u16(bytes)?);
        if first > last || !(first..=last).all(|partition| all.insert(partition)) {
            return Err(unordered());
        }
        partitions.extend(first..=last);
    }
    if partitions.is_empty() || !partitions.is_sorted() {
        Err(unordered())
    } else {
        Ok(partitions)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&to_text(&self.encode()))
    }
}

impl FromStr for Token {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Token, TokenError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(TokenError::Malformed("it is too long".into()));
        }
        match from_text(text) {
            Some(bytes) => Token::decode(bytes.into()),
            None => Err(TokenError::Malformed("a character does not belong".into())),
        }
    }
}

/// Ascending numbers as ranges, first and last of each.
fn ranges(numbers: &[u16]) -> Vec<(u16, u16)> {
    let mut ranges: Vec<(u16, u16)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    ranges
}

#[cfg(test)]
#[path = "token_tests.rs"]
mod tests;
