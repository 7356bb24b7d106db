//! How rows are reduced, and to what: counts, sums, statistics, the first and the last, the greatest and the least,
//! distinct keys.

use bytes::{Buf, BufMut};
use cardinality_estimator::CardinalityEstimator;
use serde_json::Value;

use crate::collate::{encode, length};
use crate::stats::Stats;
use crate::sum::Sum;
use crate::total::{Total, Unfit};

/// `_top_N` and `_bottom_N` give no more values.
const BEST_MAX: u8 = 100;
/// What does not fit is named up to so many characters.
const NAMED_CHARS: usize = 60;

/// How rows are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// How many there are.
    Count,
    /// The sum of their values.
    Sum,
    /// Sum, count, least, greatest and sum of squares of their values.
    Stats,
    /// The value of the first.
    First,
    /// The value of the last.
    Last,
    /// The greatest values, as many.
    Top(u8),
    /// The least values, as many.
    Bottom(u8),
    /// How many distinct keys there are, approximately.
    Distinct,
    /// What a function makes of them.
    Custom,
}

/// What is none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "reduce {0:?} is not known: it is _count, _sum, _stats, _first, _last, _top_N, _bottom_N (N from 1 to 100), _approx_count_distinct or a function"
)]
pub struct UnknownReduce(String);

impl Reduce {
    /// By its name, or the source of a function.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn of(name: &str) -> Result<Reduce, UnknownReduce> {
        let name = name.trim();
        let count = |digits: &str| {
            let count = digits.parse().ok();
            count.filter(|count| (1..=BEST_MAX).contains(count))
        };
        match name {
            "_count" => Ok(Reduce::Count),
            "_sum" => Ok(Reduce::Sum),
            "_stats" => Ok(Reduce::Stats),
            "_first" => Ok(Reduce::First),
            "_last" => Ok(Reduce::Last),
            "_approx_count_distinct" => Ok(Reduce::Distinct),
            source if !source.starts_with('_') => Ok(Reduce::Custom),
            other => {
                let top = other.strip_prefix("_top_").and_then(count).map(Reduce::Top);
                let bottom = other.strip_prefix("_bottom_").and_then(count);
                let best = top.or(bottom.map(Reduce::Bottom));
                best.ok_or_else(|| UnknownReduce(other.to_owned()))
            }
        }
    }

    /// Whether what a key's rows are reduced to is kept beside them, for what comes and goes can be added and taken
    /// away; of sums, where the values are numbers.
    pub fn is_kept(self) -> bool {
        matches!(self, Reduce::Count | Reduce::Sum)
    }
}

/// What a value counts for where sums are kept: itself where it is a number.
pub(crate) fn counts_for(reduce: Option<Reduce>, value: &str) -> f64 {
    match reduce {
        Some(Reduce::Sum) => serde_json::from_str(value).unwrap_or(NO_NUMBER),
        _ => 0.0,
    }
}

/// Other values count for this, which JSON cannot say.
pub(crate) const NO_NUMBER: f64 = f64::INFINITY;

/// What some rows are reduced to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregate {
    /// How many rows.
    pub count: i64,
    /// Sum of their values, as far as they are numbers.
    pub sum: Sum,
    of: Of,
    /// What a function made of parts of the rows, JSON.
    pub parts: Vec<Box<str>>,
}

/// What else is known of rows.
#[derive(Debug, Clone, Default, PartialEq)]
enum Of {
    #[default]
    Nothing,
    /// Of values that are no numbers.
    Total(Total),
    /// Of values, or of each element of values that are arrays.
    Stats { all: Vec<Stats>, is_array: bool },
    /// A row's place and value.
    Row(Box<[u8]>, Box<str>),
    /// Values, the best first, each with what it is ordered by.
    Best(Vec<(Vec<u8>, Box<str>)>),
    /// Keys.
    Distinct(CardinalityEstimator<Vec<u8>>),
}

impl Aggregate {
    /// Adds a row that counts for this, where that is kept beside the rows.
    pub fn add(&mut self, reduce: Reduce, value: f64) {
        self.count += 1;
        if reduce == Reduce::Sum && value != NO_NUMBER {
            self.sum.add(value);
        }
    }

    /// Takes one away.
    pub fn subtract(&mut self, reduce: Reduce, value: f64) {
        self.count -= 1;
        if reduce == Reduce::Sum && value != NO_NUMBER {
            self.sum.subtract(value);
        }
    }

    /// Of one row, by its place and value.
    ///
    /// # Errors
    /// When its value cannot be reduced so; it is named.
    pub fn of_row(reduce: Reduce, place: &[u8], value: &str) -> Result<Aggregate, Unfit> {
        let mut all = Aggregate {
            count: 1,
            ..Aggregate::default()
        };
        let unfit = |wanted: &str| {
            let value: String = value.chars().take(NAMED_CHARS).collect();
            Unfit(format!("{wanted}, not {value}"))
        };
        match reduce {
            Reduce::Count | Reduce::Custom => {}
            Reduce::Sum => match serde_json::from_str(value) {
                Ok(number) => all.sum.add(number),
                Err(_) => {
                    let total = serde_json::from_str(value).ok();
                    let total = total.as_ref().and_then(Total::of);
                    let wanted = "_sum needs numbers, arrays or objects of them";
                    all.of = Of::Total(total.ok_or_else(|| unfit(wanted))?);
                }
            },
            Reduce::Stats => {
                let read: Value = serde_json::from_str(value).unwrap_or_default();
                let each = match &read {
                    Value::Array(all) => all.iter().map(Stats::of).collect(),
                    one => Stats::of(one).map(|one| vec![one]),
                };
                let wanted = "_stats needs numbers, arrays of them, or what _stats made of some";
                all.of = Of::Stats {
                    all: each.ok_or_else(|| unfit(wanted))?,
                    is_array: read.is_array(),
                };
            }
            Reduce::First | Reduce::Last => all.of = Of::Row(place.into(), value.into()),
            Reduce::Top(_) | Reduce::Bottom(_) => {
                let order = encode(value).map_err(|error| Unfit(error.to_string()))?;
                all.of = Of::Best(vec![(order, value.into())]);
            }
            Reduce::Distinct => {
                let key = &place[..length(place).unwrap_or(place.len())];
                let mut keys = CardinalityEstimator::new();
                keys.insert(&key.to_vec());
                all.of = Of::Distinct(keys);
            }
        }
        Ok(all)
    }

    /// Adds what other rows are reduced to.
    ///
    /// # Errors
    /// When their values are of another shape.
    pub fn merge(&mut self, reduce: Reduce, other: &Aggregate) -> Result<(), Unfit> {
        self.count += other.count;
        self.sum.add_sum(&other.sum);
        self.parts.extend(other.parts.iter().cloned());
        match (&mut self.of, &other.of) {
            (_, Of::Nothing) => {}
            (own @ Of::Nothing, of) => *own = of.clone(),
            (Of::Total(own), Of::Total(others)) => own.merge(others)?,
            (
                Of::Stats { all: own, is_array },
                Of::Stats {
                    all,
                    is_array: others_are,
                },
            ) => {
                if own.len() != all.len() || is_array != others_are {
                    let line = "_stats needs numbers alone, or arrays of one length";
                    return Err(Unfit(line.to_owned()));
                }
                own.iter_mut()
                    .zip(all)
                    .for_each(|(own, other)| own.merge(other));
            }
            (Of::Row(place, value), Of::Row(other, others)) => {
                if (other < place) == (reduce == Reduce::First) {
                    place.clone_from(other);
                    value.clone_from(others);
                }
            }
            (Of::Best(own), Of::Best(others)) => {
                own.extend(others.iter().cloned());
                own.sort();
                match reduce {
                    Reduce::Top(count) => {
                        own.reverse();
                        own.truncate(count.into());
                    }
                    Reduce::Bottom(count) => own.truncate(count.into()),
                    _ => {}
                }
            }
            (Of::Distinct(own), Of::Distinct(others)) => own.merge(others),
            _ => return Err(Unfit("rows were reduced in different ways".to_owned())),
        }
        match &self.of {
            Of::Total(Total::Object(_)) if self.sum != Sum::default() => Err(Total::mixed()),
            _ => Ok(()),
        }
    }

    /// As the value of a row, in JSON.
    ///
    /// # Errors
    /// When the values are of different shapes.
    pub fn to_json(&self, reduce: Reduce) -> Result<String, Unfit> {
        Ok(match (reduce, &self.of) {
            (Reduce::Count, _) => self.count.to_string(),
            (Reduce::Sum, Of::Total(total)) => {
                let mut total = total.clone();
                // Numbers that are there beside; the sum of none is nothing.
                if self.sum != Sum::default() {
                    total.merge(&Total::Number(self.sum.clone()))?;
                }
                total.to_json()
            }
            (_, Of::Stats { all, is_array }) => {
                let each: Vec<String> = all.iter().map(Stats::to_json).collect();
                let each = each.join(",");
                if *is_array { format!("[{each}]") } else { each }
            }
            (_, Of::Row(_, value)) => value.to_string(),
            (_, Of::Best(all)) => {
                let all: Vec<&str> = all.iter().map(|(_, value)| &**value).collect();
                format!("[{}]", all.join(","))
            }
            (_, Of::Distinct(keys)) => keys.estimate().to_string(),
            (Reduce::Sum, _) => self.sum.to_json(),
            // Of several parts one was made before.
            _ => match self.parts.first() {
                Some(part) => part.to_string(),
                None => "null".to_owned(),
            },
        })
    }

    /// Its bytes.
    pub fn encode(&self, reduce: Reduce, out: &mut Vec<u8>) {
        out.put_i64_le(self.count);
        if reduce == Reduce::Sum {
            self.sum.encode(out);
        }
        match &self.of {
            Of::Nothing => out.put_u8(0),
            Of::Total(total) => {
                out.put_u8(1);
                total.encode(out);
            }
            Of::Stats { all, is_array } => {
                out.put_u8(2);
                out.put_u8((*is_array).into());
                out.put_u32_le(all.len() as u32);
                all.iter().for_each(|stats| stats.encode(out));
            }
            Of::Row(place, value) => {
                out.put_u8(3);
                put(out, place);
                put(out, value.as_bytes());
            }
            Of::Best(all) => {
                out.put_u8(4);
                out.put_u32_le(all.len() as u32);
                all.iter().for_each(|(_, value)| put(out, value.as_bytes()));
            }
            Of::Distinct(keys) => {
                out.put_u8(5);
                put(out, &serde_json::to_vec(keys).unwrap_or_default());
            }
        }
        if reduce == Reduce::Custom {
            out.put_u32_le(self.parts.len() as u32);
            self.parts.iter().for_each(|part| put(out, part.as_bytes()));
        }
    }

    /// Reads them.
    pub fn decode(reduce: Reduce, bytes: &mut &[u8]) -> Option<Aggregate> {
        let mut aggregate = Aggregate {
            count: bytes.try_get_i64_le().ok()?,
            ..Aggregate::default()
        };
        if reduce == Reduce::Sum {
            aggregate.sum = Sum::decode(bytes)?;
        }
        aggregate.of = match bytes.try_get_u8().ok()? {
            0 => Of::Nothing,
            1 => Of::Total(Total::decode(bytes)?),
            2 => {
                let is_array = bytes.try_get_u8().ok()? == 1;
                let count = bytes.try_get_u32_le().ok()?;
                let all = (0..count).map(|_| Stats::decode(bytes));
                let all = all.collect::<Option<_>>()?;
                Of::Stats { all, is_array }
            }
            3 => Of::Row(get(bytes)?.into(), get_text(bytes)?),
            4 => {
                let count = bytes.try_get_u32_le().ok()?;
                let one = |_| {
                    let value = get_text(bytes)?;
                    Some((encode(&value).ok()?, value))
                };
                Of::Best((0..count).map(one).collect::<Option<_>>()?)
            }
            5 => Of::Distinct(serde_json::from_slice(get(bytes)?).ok()?),
            _ => return None,
        };
        if reduce == Reduce::Custom {
            for _ in 0..bytes.try_get_u32_le().ok()? {
                aggregate.parts.push(get_text(bytes)?);
            }
        }
        Some(aggregate)
    }
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    out.put_u32_le(bytes.len() as u32);
    out.put_slice(bytes);
}

fn get<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = bytes.try_get_u32_le().ok()? as usize;
    let (part, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(part)
}

fn get_text(bytes: &mut &[u8]) -> Option<Box<str>> {
    Some(std::str::from_utf8(get(bytes)?).ok()?.into())
}

#[cfg(test)]
#[path = "reduce_tests.rs"]
mod tests;
