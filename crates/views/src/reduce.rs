//! What rows are reduced to: counts, sums and statistics.

use bytes::{Buf, BufMut};
use serde_json::json;

use crate::collate::number;
use crate::sum::Sum;

/// How rows are reduced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduce {
    /// How many there are.
    Count,
    /// The sum of their values.
    Sum,
    /// Sum, count, least, greatest and sum of squares of their values.
    Stats,
    /// What a function makes of them.
    Custom,
}

/// What is none of these.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("reduce {0:?} is not known: it is _count, _sum, _stats or a function")]
pub struct UnknownReduce(String);

impl Reduce {
    /// By its name, or the source of a function.
    ///
    /// # Errors
    /// When there is none of that name.
    pub fn of(name: &str) -> Result<Reduce, UnknownReduce> {
        match name {
            "_count" => Ok(Reduce::Count),
            "_sum" => Ok(Reduce::Sum),
            "_stats" => Ok(Reduce::Stats),
            source if !source.starts_with('_') => Ok(Reduce::Custom),
            other => Err(UnknownReduce(other.to_owned())),
        }
    }

    /// Whether rows must have numbers as values.
    pub fn takes_numbers(self) -> bool {
        matches!(self, Reduce::Sum | Reduce::Stats)
    }

    /// Whether what a key's rows are reduced to is kept beside them, for what comes and goes can be added and taken
    /// away.
    pub fn is_kept(self) -> bool {
        matches!(self, Reduce::Count | Reduce::Sum)
    }
}

/// What some rows are reduced to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Aggregate {
    /// How many rows.
    pub count: i64,
    /// Sum of their values.
    pub sum: Sum,
    squares: Sum,
    bounds: Option<(f64, f64)>,
    /// What a function made of parts of the rows, JSON.
    pub parts: Vec<Box<str>>,
}

impl Aggregate {
    /// Adds a row with this value.
    pub fn add(&mut self, reduce: Reduce, value: f64) {
        self.count += 1;
        if reduce.takes_numbers() {
            self.sum.add(value);
        }
        if reduce == Reduce::Stats {
            self.squares.add(value * value);
            let (least, greatest) = self.bounds.unwrap_or((value, value));
            self.bounds = Some((least.min(value), greatest.max(value)));
        }
    }

    /// Takes one away, where that is kept beside the rows.
    pub fn subtract(&mut self, reduce: Reduce, value: f64) {
        self.count -= 1;
        if reduce.takes_numbers() {
            self.sum.subtract(value);
        }
    }

    /// Adds what other rows are reduced to.
    pub fn merge(&mut self, other: &Aggregate) {
        self.count += other.count;
        self.sum.add_sum(&other.sum);
        self.squares.add_sum(&other.squares);
        self.parts.extend(other.parts.iter().cloned());
        self.bounds = match (self.bounds, other.bounds) {
            (Some(own), Some(others)) => Some((own.0.min(others.0), own.1.max(others.1))),
            (own, others) => own.or(others),
        };
    }

    /// As the value of a row, in JSON.
    pub fn to_json(&self, reduce: Reduce) -> String {
        match reduce {
            Reduce::Count => self.count.to_string(),
            Reduce::Sum => finite(self.sum.value()),
            // Of several parts one was made before.
            Reduce::Custom => match self.parts.first() {
                Some(part) => part.to_string(),
                None => "null".to_owned(),
            },
            Reduce::Stats => {
                let (least, greatest) = self.bounds.unwrap_or_default();
                let raw = |value| serde_json::value::RawValue::from_string(finite(value)).ok();
                json!({
                    "sum": raw(self.sum.value()),
                    "count": self.count,
                    "min": raw(least),
                    "max": raw(greatest),
                    "sumsqr": raw(self.squares.value()),
                })
                .to_string()
            }
        }
    }

    /// Its bytes.
    pub fn encode(&self, reduce: Reduce, out: &mut Vec<u8>) {
        out.put_i64_le(self.count);
        if reduce.takes_numbers() {
            self.sum.encode(out);
        }
        if reduce == Reduce::Stats {
            self.squares.encode(out);
            let (least, greatest) = self.bounds.unwrap_or((f64::NAN, f64::NAN));
            out.put_f64_le(least);
            out.put_f64_le(greatest);
        }
        if reduce == Reduce::Custom {
            out.put_u32_le(self.parts.len() as u32);
            for part in &self.parts {
                out.put_u32_le(part.len() as u32);
                out.put_slice(part.as_bytes());
            }
        }
    }

    /// Reads them.
    pub fn decode(reduce: Reduce, bytes: &mut &[u8]) -> Option<Aggregate> {
        let mut aggregate = Aggregate {
            count: bytes.try_get_i64_le().ok()?,
            ..Aggregate::default()
        };
        if reduce.takes_numbers() {
            aggregate.sum = Sum::decode(bytes)?;
        }
        if reduce == Reduce::Stats {
            aggregate.squares = Sum::decode(bytes)?;
            let bounds = (bytes.try_get_f64_le().ok()?, bytes.try_get_f64_le().ok()?);
            aggregate.bounds = (!bounds.0.is_nan()).then_some(bounds);
        }
        if reduce == Reduce::Custom {
            for _ in 0..bytes.try_get_u32_le().ok()? {
                let length = bytes.try_get_u32_le().ok()? as usize;
                let (part, rest) = bytes.split_at_checked(length)?;
                *bytes = rest;
                aggregate.parts.push(std::str::from_utf8(part).ok()?.into());
            }
        }
        Some(aggregate)
    }
}

/// JSON has no other numbers.
fn finite(value: f64) -> String {
    if value.is_finite() {
        number(value)
    } else {
        "null".to_owned()
    }
}

#[cfg(test)]
#[path = "reduce_tests.rs"]
mod tests;
