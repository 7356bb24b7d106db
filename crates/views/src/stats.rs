//! Statistics of numbers: sum, count, least, greatest and sum of squares. Statistics that a value carries are added as
//! what it stands for.

use bytes::{Buf, BufMut};
use serde_json::{Value, json};

use crate::sum::{Sum, json_of};

/// Statistics of some numbers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stats {
    count: i64,
    sum: Sum,
    squares: Sum,
    bounds: Option<(f64, f64)>,
}

impl Stats {
    /// Of a number, or of statistics of numbers; none of other values.
    pub fn of(value: &Value) -> Option<Stats> {
        if let Some(number) = value.as_f64() {
            let (mut sum, mut squares) = (Sum::default(), Sum::default());
            sum.add(number);
            let square = number * number;
            squares.add(Some(square).filter(|square| square.is_finite())?);
            let bounds = Some((number, number));
            return Some(Stats {
                count: 1,
                sum,
                squares,
                bounds,
            });
        }
        let member = |name: &str| value.get(name)?.as_f64();
        let (mut sum, mut squares) = (Sum::default(), Sum::default());
        sum.add(member("sum")?);
        squares.add(member("sumsqr")?);
        Some(Stats {
            count: value.get("count")?.as_i64()?,
            sum,
            squares,
            bounds: Some((member("min")?, member("max")?)),
        })
    }

    /// Adds those of other numbers.
    pub fn merge(&mut self, other: &Stats) {
        self.count += other.count;
        self.sum.add_sum(&other.sum);
        self.squares.add_sum(&other.squares);
        self.bounds = match (self.bounds, other.bounds) {
            (Some(own), Some(others)) => Some((own.0.min(others.0), own.1.max(others.1))),
            (own, others) => own.or(others),
        };
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        let (least, greatest) = self.bounds.unwrap_or_default();
        let raw = |value| serde_json::value::RawValue::from_string(json_of(value)).ok();
        json!({
            "sum": raw(self.sum.value()),
            "count": self.count,
            "min": raw(least),
            "max": raw(greatest),
            "sumsqr": raw(self.squares.value()),
        })
        .to_string()
    }

    /// Its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.put_i64_le(self.count);
        self.sum.encode(out);
        self.squares.encode(out);
        let (least, greatest) = self.bounds.unwrap_or((f64::NAN, f64::NAN));
        out.put_f64_le(least);
        out.put_f64_le(greatest);
    }

    /// Reads them.
    pub fn decode(bytes: &mut &[u8]) -> Option<Stats> {
        let count = bytes.try_get_i64_le().ok()?;
        let (sum, squares) = (Sum::decode(bytes)?, Sum::decode(bytes)?);
        let bounds = (bytes.try_get_f64_le().ok()?, bytes.try_get_f64_le().ok()?);
        Some(Stats {
            count,
            sum,
            squares,
            bounds: (!bounds.0.is_nan()).then_some(bounds),
        })
    }
}
