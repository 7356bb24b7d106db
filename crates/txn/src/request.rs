//! What a range's leader is asked, and what it answers; as values and as bytes. Pure.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use dunlin_entry::Version;
use dunlin_proto::Condition;

use crate::command::{
    Check, Command, Id, Malformed, Refusal, Write, bytes, checks, condition, id, id_option, number,
    numbers, put_bytes, put_checks, put_condition, put_id, put_id_option, put_write, put_writes,
    some, version, write, writes,
};

/// What is asked of a range's leader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Values of keys, at a transaction's timestamp or at one of the leader's own.
    Read {
        /// The timestamp.
        at: Option<Version>,
        /// The keys.
        keys: Vec<Bytes>,
    },
    /// The keys from the first to before the second, in the same way.
    Page {
        /// The timestamp.
        at: Option<Version>,
        /// The first.
        start: Bytes,
        /// The second; none is the range's end.
        end: Option<Bytes>,
        /// No more than so many.
        limit: u32,
    },
    /// One key is to be written, at a timestamp of the leader's.
    Write {
        /// Its version must not be above this.
        deadline: Version,
        /// And above this.
        floor: Version,
        /// What must hold of the key.
        condition: Condition,
        /// What is written.
        write: Write,
    },
    /// A transaction whose keys all lie in the range is to be evaluated.
    Update(Update),
    /// An entry of a transaction: to commit it, to reserve or close its name, to place or finalize intents, or that it is
    /// finished.
    Enter(Command),
    /// Whether keys have no version above one timestamp and up to another, and will have none.
    Unchanged {
        /// The later.
        at: Version,
        /// The earlier.
        since: Version,
        /// The keys.
        spans: Vec<Span>,
    },
    /// The lock of a key, when it is its turn, and values at a timestamp of then: nothing relies on it.
    Lock {
        /// The key.
        key: Bytes,
        /// The timestamp is above this.
        floor: Version,
        /// The keys to read.
        reads: Vec<Bytes>,
    },
    /// A lock has ended.
    Unlock {
        /// Its number.
        number: u64,
    },
    /// What became of a transaction whose record is here; it is aborted if nothing has yet and the asker wants that.
    Push {
        /// The transaction.
        txn: Version,
        /// Whether it is aborted if it is undecided.
        aborts: bool,
    },
    /// The outcome of a name, if it has one here. Changes nothing, and keeps nobody from writing.
    Name {
        /// The name.
        id: Id,
    },
    /// Timestamps, of the oracle.
    Timestamps {
        /// How many.
        count: u32,
        /// They must be above this.
        above: Version,
    },
    /// Whether it leads and serves.
    Leads,
}

/// What a transaction reads, checks and writes in one range.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Update {
    /// Its version must not be above this.
    pub deadline: Version,
    /// And above this.
    pub floor: Version,
    /// Values of no more bytes are read.
    pub bytes_max: u32,
    /// The keys whose values are answered.
    pub reads: Vec<Bytes>,
    /// What must hold of keys.
    pub checks: Vec<Check>,
    /// The writes.
    pub writes: Vec<Write>,
    /// Numbers to add to the values of keys, by the index of their writes, which have no values.
    pub adds: Vec<(u32, i64)>,
    /// What its client calls it.
    pub id: Option<Id>,
}

/// What is in the way of a transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Blocker {
    /// A key was read or written at this timestamp: a newer one may succeed.
    Newer {
        /// The key.
        key: Bytes,
        /// The timestamp.
        at: Version,
    },
    /// What there was up to this timestamp may be forgotten: a newer one may succeed.
    Old(Version),
    /// Another transaction's intent.
    Intent {
        /// The key.
        key: Bytes,
        /// That transaction.
        txn: Version,
        /// Which range holds its record.
        holder: u64,
    },
}

/// Keys of a range from the first to before the second; none is the range's end.
pub type Span = (Bytes, Option<Bytes>);

/// A key with its version and value.
pub type Row = (Bytes, Version, Bytes);

/// What a leader answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// It happened, at this timestamp.
    Done(Version),
    /// The condition does not hold; the version there is, if there is a value.
    ConditionFailed(Option<Version>),
    /// The check of this number does not hold; the same. Nothing happened.
    CheckFailed(u32, Option<Version>),
    /// Its version would be above its deadline; nothing happened.
    TooLate(Version),
    /// Something is in the way; nothing happened.
    Blocked(Blocker),
    /// The transaction has committed.
    Committed,
    /// The transaction is aborted.
    Aborted,
    /// The transaction is neither, yet.
    Undecided,
    /// An attempt under the same name has committed, at this timestamp.
    CommittedBefore(Version),
    /// No attempt under this name has an effect, nor will; nothing happened.
    RefusedBefore(Refusal),
    /// Something else has the same name; nothing happened.
    NameTaken,
    /// The transaction is older than what is remembered.
    Forgotten,
    /// Another leads, this one if it is known; nothing happened.
    NotLeader(Option<u64>),
    /// Too much is under way; nothing happened.
    Busy,
    /// A disk of its leader is full; nothing happened.
    NoSpace,
    /// The clock there is not to be trusted; nothing happened.
    Clock,
    /// Whether it happened is not known.
    Unknown,
    /// The replica has failed; nothing happened.
    Failed(String),
    /// The oracle gives no timestamps; nothing happened.
    NoTimestamp(String),
    /// Values with their versions, of the first keys in their order; none where there is none. Of the first key at least,
    /// and of so many as fit into one answer.
    Values(Vec<Option<(Version, Bytes)>>),
    /// This key has such a version.
    Changed(Bytes),
    /// An update happened.
    Updated {
        /// At this timestamp.
        at: Version,
        /// The values that its keys had before, with their versions; none where there was none.
        values: Vec<Option<(Version, Bytes)>>,
        /// The sums, in the order of the additions.
        sums: Vec<i64>,
    },
    /// Nothing can be added to the value of the write of this index, and why; nothing happened.
    NotAdded(u32, String),
    /// There is too much of an update for a leader; nothing happened.
    TooLarge,
    /// A lock is held.
    Locked {
        /// Its number.
        number: u64,
        /// Whether others had it first.
        has_waited: bool,
        /// A timestamp that was given since.
        at: Version,
        /// Values at it, as in `Values`.
        values: Vec<Option<(Version, Bytes)>>,
    },
    /// Keys in order, and where the next page begins.
    Page(Vec<Row>, Option<Bytes>),
    /// The first of the timestamps.
    Timestamps(Version),
}

const READ: u8 = 1;
const PAGE: u8 = 2;
const WRITE: u8 = 3;
const ENTER: u8 = 4;
const PUSH: u8 = 5;
const TIMESTAMPS: u8 = 6;
const LEADS: u8 = 7;
const NAME: u8 = 8;
const LOCK: u8 = 9;
const UNLOCK: u8 = 10;
const UNCHANGED: u8 = 11;
const UPDATE: u8 = 12;

impl Request {
    /// As it travels, behind what is there.
    pub fn encode(&self, out: &mut BytesMut) {
        match self {
            Request::Read { at, keys } => {
                out.put_u8(READ);
                out.put_u64_le(at.unwrap_or_default().0);
                put_keys(out, keys);
            }
            Request::Page {
                at,
                start,
                end,
                limit,
            } => {
                out.put_u8(PAGE);
                out.put_u64_le(at.unwrap_or_default().0);
                put_bytes(out, start);
                put_option(out, end.as_ref());
                out.put_u32_le(*limit);
            }
            Request::Write {
                deadline,
                floor,
                condition,
                write,
            } => {
                out.put_u8(WRITE);
                out.put_u64_le(deadline.0);
                out.put_u64_le(floor.0);
                put_condition(out, *condition);
                put_write(out, write);
            }
            Request::Update(update) => {
                out.put_u8(UPDATE);
                put_update(out, update);
            }
            Request::Enter(command) => {
                out.put_u8(ENTER);
                out.put_slice(&command.encode());
            }
            Request::Push { txn, aborts } => {
                out.put_u8(PUSH);
                out.put_u64_le(txn.0);
                out.put_u8((*aborts).into());
            }
            Request::Name { id } => {
                out.put_u8(NAME);
                put_id(out, id);
            }
            Request::Unchanged { at, since, spans } => {
                out.put_u8(UNCHANGED);
                out.put_u64_le(at.0);
                out.put_u64_le(since.0);
                out.put_u32_le(spans.len() as u32);
                for (start, end) in spans {
                    put_bytes(out, start);
                    put_option(out, end.as_ref());
                }
            }
            Request::Lock { key, floor, reads } => {
                out.put_u8(LOCK);
                put_bytes(out, key);
                out.put_u64_le(floor.0);
                put_keys(out, reads);
            }
            Request::Unlock { number } => {
                out.put_u8(UNLOCK);
                out.put_u64_le(*number);
            }
            Request::Timestamps { count, above } => {
                out.put_u8(TIMESTAMPS);
                out.put_u32_le(*count);
                out.put_u64_le(above.0);
            }
            Request::Leads => out.put_u8(LEADS),
        }
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are no request's.
    pub fn decode(mut from: Bytes) -> Result<Request, Malformed> {
        let from = &mut from;
        let request = match byte(from)? {
            READ => {
                let at = some(version(from)?);
                let keys = keys(from)?;
                Request::Read { at, keys }
            }
            PAGE => Request::Page {
                at: some(version(from)?),
                start: bytes(from)?,
                end: option(from)?,
                limit: from.try_get_u32_le().map_err(short)?,
            },
            WRITE => Request::Write {
                deadline: version(from)?,
                floor: version(from)?,
                condition: condition(from)?,
                write: write(from)?,
            },
            UPDATE => Request::Update(update(from)?),
            ENTER => Request::Enter(Command::decode(std::mem::take(from))?),
            PUSH => Request::Push {
                txn: version(from)?,
                aborts: byte(from)? != 0,
            },
            NAME => Request::Name { id: id(from)? },
            UNCHANGED => {
                let (at, since) = (version(from)?, version(from)?);
                let count = length(from)?;
                let span = |_| Ok((bytes(from)?, option(from)?));
                let spans = (0..count).map(span).collect::<Result<_, Malformed>>()?;
                Request::Unchanged { at, since, spans }
            }
            LOCK => Request::Lock {
                key: bytes(from)?,
                floor: version(from)?,
                reads: keys(from)?,
            },
            UNLOCK => Request::Unlock {
                number: number(from)?,
            },
            TIMESTAMPS => Request::Timestamps {
                count: from.try_get_u32_le().map_err(short)?,
                above: version(from)?,
            },
            LEADS => Request::Leads,
            _ => return Err(Malformed("its kind is unknown")),
        };
        whole(from, request)
    }
}

impl Answer {
    /// As it travels.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Answer::Done(version) => put_version(&mut out, 1, *version),
            Answer::ConditionFailed(version) => {
                put_version(&mut out, 2, version.unwrap_or_default());
            }
            Answer::TooLate(version) => put_version(&mut out, 3, *version),
            Answer::Blocked(Blocker::Newer { key, at }) => {
                put_version(&mut out, 4, *at);
                put_bytes(&mut out, key);
            }
            Answer::Blocked(Blocker::Intent { key, txn, holder }) => {
                put_version(&mut out, 5, *txn);
                out.put_u64_le(*holder);
                put_bytes(&mut out, key);
            }
            Answer::Blocked(Blocker::Old(version)) => put_version(&mut out, 23, *version),
            Answer::Changed(key) => {
                out.put_u8(25);
                put_bytes(&mut out, key);
            }
            Answer::Locked {
                number,
                has_waited,
                at,
                values,
            } => {
                out.put_u8(24);
                out.put_u64_le(*number);
                out.put_u8((*has_waited).into());
                out.put_u64_le(at.0);
                put_values(&mut out, values);
            }
            Answer::Committed => out.put_u8(6),
            Answer::Aborted => out.put_u8(7),
            Answer::Undecided => out.put_u8(8),
            Answer::Forgotten => out.put_u8(9),
            Answer::NotLeader(leader) => {
                out.put_u8(10);
                out.put_u64_le(leader.unwrap_or(0));
            }
            Answer::Busy => out.put_u8(11),
            Answer::Clock => out.put_u8(12),
            Answer::Unknown => out.put_u8(13),
            Answer::Failed(why) => {
                out.put_u8(14);
                put_bytes(&mut out, why.as_bytes());
            }
            Answer::NoTimestamp(why) => {
                out.put_u8(15);
                put_bytes(&mut out, why.as_bytes());
            }
            Answer::Values(values) => {
                out.put_u8(16);
                put_values(&mut out, values);
            }
            Answer::Updated { at, values, sums } => {
                put_version(&mut out, 26, *at);
                out.put_u32_le(sums.len() as u32);
                for sum in sums {
                    out.put_i64_le(*sum);
                }
                put_values(&mut out, values);
            }
            Answer::NotAdded(number, why) => {
                out.put_u8(27);
                out.put_u32_le(*number);
                put_bytes(&mut out, why.as_bytes());
            }
            Answer::TooLarge => out.put_u8(28),
            Answer::NoSpace => out.put_u8(29),
            Answer::Page(rows, next) => {
                out.put_u8(17);
                put_option(&mut out, next.as_ref());
                out.put_u32_le(rows.len() as u32);
                for (key, version, value) in rows {
                    put_bytes(&mut out, key);
                    out.put_u64_le(version.0);
                    put_bytes(&mut out, value);
                }
            }
            Answer::Timestamps(first) => put_version(&mut out, 18, *first),
            Answer::CommittedBefore(version) => put_version(&mut out, 19, *version),
            Answer::NameTaken => out.put_u8(20),
            Answer::CheckFailed(number, version) => {
                put_version(&mut out, 21, version.unwrap_or_default());
                out.put_u32_le(*number);
            }
            Answer::RefusedBefore(refusal) => {
                out.put_u8(22);
                refusal.encode(&mut out);
            }
        }
        out.freeze()
    }

    /// The same back.
    ///
    /// # Errors
    /// When the bytes are no answer's.
    pub fn decode(mut from: Bytes) -> Result<Answer, Malformed> {
        let from = &mut from;
        let answer = match byte(from)? {
            1 => Answer::Done(version(from)?),
            2 => Answer::ConditionFailed(some(version(from)?)),
            3 => Answer::TooLate(version(from)?),
            4 => {
                let (at, key) = (version(from)?, bytes(from)?);
                Answer::Blocked(Blocker::Newer { key, at })
            }
            5 => {
                let (txn, holder, key) = (version(from)?, number(from)?, bytes(from)?);
                Answer::Blocked(Blocker::Intent { key, txn, holder })
            }
            6 => Answer::Committed,
            7 => Answer::Aborted,
            8 => Answer::Undecided,
            9 => Answer::Forgotten,
            10 => Answer::NotLeader(Some(number(from)?).filter(|number| *number != 0)),
            11 => Answer::Busy,
            12 => Answer::Clock,
            13 => Answer::Unknown,
            14 => Answer::Failed(text(from)?),
            15 => Answer::NoTimestamp(text(from)?),
            16 => Answer::Values(values(from)?),
            17 => {
                let next = option(from)?;
                let count = length(from)?;
                let row = |_| Ok((bytes(from)?, version(from)?, bytes(from)?));
                let rows = (0..count).map(row).collect::<Result<_, Malformed>>()?;
                Answer::Page(rows, next)
            }
            18 => Answer::Timestamps(version(from)?),
            19 => Answer::CommittedBefore(version(from)?),
            20 => Answer::NameTaken,
            21 => {
                let found = some(version(from)?);
                Answer::CheckFailed(from.try_get_u32_le().map_err(short)?, found)
            }
            22 => Answer::RefusedBefore(Refusal::decode(from)?),
            23 => Answer::Blocked(Blocker::Old(version(from)?)),
            24 => Answer::Locked {
                number: number(from)?,
                has_waited: byte(from)? != 0,
                at: version(from)?,
                values: values(from)?,
            },
            25 => Answer::Changed(bytes(from)?),
            26 => {
                let at = version(from)?;
                let sums = numbers(from)?.into_iter().map(u64::cast_signed).collect();
                let values = values(from)?;
                Answer::Updated { at, values, sums }
            }
            27 => Answer::NotAdded(from.try_get_u32_le().map_err(short)?, text(from)?),
            28 => Answer::TooLarge,
            29 => Answer::NoSpace,
            _ => return Err(Malformed("its kind is unknown")),
        };
        whole(from, answer)
    }
}

fn put_keys(out: &mut BytesMut, keys: &[Bytes]) {
    out.put_u32_le(keys.len() as u32);
    for key in keys {
        put_bytes(out, key);
    }
}

fn keys(from: &mut Bytes) -> Result<Vec<Bytes>, Malformed> {
    let count = length(from)?;
    (0..count).map(|_| bytes(from)).collect()
}

fn put_values(out: &mut BytesMut, values: &[Option<(Version, Bytes)>]) {
    let bytes: usize = values.iter().flatten().map(|(_, v)| v.len() + 12).sum();
    out.reserve(4 + values.len() + bytes);
    out.put_u32_le(values.len() as u32);
    for value in values {
        out.put_u8(value.is_some().into());
        if let Some((version, value)) = value {
            out.put_u64_le(version.0);
            put_bytes(out, value);
        }
    }
}

fn values(from: &mut Bytes) -> Result<Vec<Option<(Version, Bytes)>>, Malformed> {
    let count = length(from)?;
    let value = |_| match byte(from)? {
        0 => Ok(None),
        _ => Ok(Some((version(from)?, bytes(from)?))),
    };
    (0..count).map(value).collect()
}

fn put_update(out: &mut BytesMut, update: &Update) {
    out.put_u64_le(update.deadline.0);
    out.put_u64_le(update.floor.0);
    out.put_u32_le(update.bytes_max);
    put_keys(out, &update.reads);
    put_checks(out, &update.checks);
    put_writes(out, &update.writes);
    out.put_u32_le(update.adds.len() as u32);
    for (number, add) in &update.adds {
        out.put_u32_le(*number);
        out.put_i64_le(*add);
    }
    put_id_option(out, update.id.as_ref());
}

fn update(from: &mut Bytes) -> Result<Update, Malformed> {
    let (deadline, floor) = (version(from)?, version(from)?);
    let bytes_max = from.try_get_u32_le().map_err(short)?;
    let reads = keys(from)?;
    let (checks, writes) = (checks(from)?, writes(from)?);
    let count = length(from)?;
    let add = |_| {
        let number = from.try_get_u32_le().map_err(short)?;
        Ok((number, from.try_get_i64_le().map_err(short)?))
    };
    let adds = (0..count).map(add).collect::<Result<_, Malformed>>()?;
    let id = id_option(from)?;
    Ok(Update {
        deadline,
        floor,
        bytes_max,
        reads,
        checks,
        writes,
        adds,
        id,
    })
}

fn whole<T>(from: &Bytes, told: T) -> Result<T, Malformed> {
    if !from.has_remaining() {
        Ok(told)
    } else {
        Err(Malformed("there is more than it says"))
    }
}

fn put_version(out: &mut BytesMut, kind: u8, version: Version) {
    out.put_u8(kind);
    out.put_u64_le(version.0);
}

fn put_option(out: &mut BytesMut, bytes: Option<&Bytes>) {
    out.put_u8(bytes.is_some().into());
    if let Some(bytes) = bytes {
        put_bytes(out, bytes);
    }
}

fn option(from: &mut Bytes) -> Result<Option<Bytes>, Malformed> {
    match byte(from)? {
        0 => Ok(None),
        _ => bytes(from).map(Some),
    }
}

fn short<E>(_: E) -> Malformed {
    Malformed("it is cut short")
}

fn byte(from: &mut Bytes) -> Result<u8, Malformed> {
    from.try_get_u8().map_err(short)
}

/// A count of things that take a byte at least.
fn length(from: &mut Bytes) -> Result<usize, Malformed> {
    let count = from.try_get_u32_le().map_err(short)? as usize;
    if count <= from.len() {
        Ok(count)
    } else {
        Err(Malformed("it is cut short"))
    }
}

fn text(from: &mut Bytes) -> Result<String, Malformed> {
    Ok(String::from_utf8_lossy(&bytes(from)?).into_owned())
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
