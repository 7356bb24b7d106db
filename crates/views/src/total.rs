//! Sums of arrays and objects: element by element, member by member, as exact as those of numbers.

use std::collections::BTreeMap;

use bytes::{Buf, BufMut};
use serde_json::Value;

use crate::sum::Sum;

/// Deeper values are refused.
const DEPTH_MAX: usize = 32;

/// Values that cannot be reduced together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// A sum of values of one shape.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Total {
    /// Of numbers.
    Number(Sum),
    /// Of arrays, and of numbers, which count for the first element.
    Array(Vec<Total>),
    /// Of objects.
    Object(BTreeMap<String, Total>),
}

impl Total {
    /// Of one value; none where it has something in it that cannot be added up.
    pub fn of(value: &Value) -> Option<Total> {
        Self::within(value, DEPTH_MAX)
    }

    fn within(value: &Value, depth: usize) -> Option<Total> {
        let depth = depth.checked_sub(1)?;
        match value {
            Value::Number(number) => {
                let mut sum = Sum::default();
                sum.add(number.as_f64()?);
                Some(Total::Number(sum))
            }
            Value::Array(values) => {
                let all = values.iter().map(|value| Self::within(value, depth));
                all.collect::<Option<_>>().map(Total::Array)
            }
            Value::Object(members) => {
                let all = members.iter();
                let all =
                    all.map(|(name, value)| Some((name.clone(), Self::within(value, depth)?)));
                all.collect::<Option<_>>().map(Total::Object)
            }
            _ => None,
        }
    }

    /// Adds another.
    ///
    /// # Errors
    /// When one is an object and the other is not.
    pub fn merge(&mut self, other: &Total) -> Result<(), Unfit> {
        match (&mut *self, other) {
            (Total::Number(own), Total::Number(other)) => own.add_sum(other),
            (Total::Array(own), Total::Array(others)) => {
                for (n, other) in others.iter().enumerate() {
                    match own.get_mut(n) {
                        Some(own) => own.merge(other)?,
                        None => own.push(other.clone()),
                    }
                }
            }
            (Total::Array(own), Total::Number(_)) => match own.first_mut() {
                Some(first) => first.merge(other)?,
                None => own.push(other.clone()),
            },
            (Total::Number(_), Total::Array(_)) => {
                let number = std::mem::replace(self, other.clone());
                self.merge(&number)?;
            }
            (Total::Object(own), Total::Object(others)) => {
                for (name, other) in others {
                    match own.get_mut(name) {
                        Some(own) => own.merge(other)?,
                        None => drop(own.insert(name.clone(), other.clone())),
                    }
                }
            }
            _ => return Err(Self::mixed()),
        }
        Ok(())
    }

    /// Values of these shapes do not add up.
    pub fn mixed() -> Unfit {
        Unfit("_sum adds no objects to numbers or arrays".to_owned())
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        match self {
            Total::Number(sum) => sum.to_json(),
            Total::Array(all) => {
                let all: Vec<String> = all.iter().map(Total::to_json).collect();
                format!("[{}]", all.join(","))
            }
            Total::Object(all) => {
                let member = |(name, total): (&String, &Total)| {
                    let name = serde_json::to_string(name).unwrap_or_default();
                    format!("{name}:{}", total.to_json())
                };
                let all: Vec<String> = all.iter().map(member).collect();
                format!("{{{}}}", all.join(","))
            }
        }
    }

    /// Its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Total::Number(sum) => {
                out.put_u8(0);
                sum.encode(out);
            }
            Total::Array(all) => {
                out.put_u8(1);
                out.put_u32_le(all.len() as u32);
                all.iter().for_each(|total| total.encode(out));
            }
            Total::Object(all) => {
                out.put_u8(2);
                out.put_u32_le(all.len() as u32);
                for (name, total) in all {
                    out.put_u32_le(name.len() as u32);
                    out.put_slice(name.as_bytes());
                    total.encode(out);
                }
            }
        }
    }

    /// Reads them.
    pub fn decode(bytes: &mut &[u8]) -> Option<Total> {
        Self::decode_within(bytes, DEPTH_MAX)
    }

    fn decode_within(bytes: &mut &[u8], depth: usize) -> Option<Total> {
        let depth = depth.checked_sub(1)?;
        match bytes.try_get_u8().ok()? {
            0 => Sum::decode(bytes).map(Total::Number),
            1 => {
                let count = bytes.try_get_u32_le().ok()?;
                let all = (0..count).map(|_| Self::decode_within(bytes, depth));
                all.collect::<Option<_>>().map(Total::Array)
            }
            2 => {
                let count = bytes.try_get_u32_le().ok()?;
                let member = |_| {
                    let length = bytes.try_get_u32_le().ok()? as usize;
                    let (name, rest) = bytes.split_at_checked(length)?;
                    *bytes = rest;
                    let name = std::str::from_utf8(name).ok()?.to_owned();
                    Some((name, Self::decode_within(bytes, depth)?))
                };
                (0..count)
                    .map(member)
                    .collect::<Option<_>>()
                    .map(Total::Object)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
#[path = "total_tests.rs"]
mod tests;
