//! A sum of numbers that forgets nothing: what was added and taken away again leaves no trace, and the order does
//! not matter. So a kept sum is that of a recomputation, and those of several shards add up.

use bytes::{Buf, BufMut};
use num_bigint::{BigInt, Sign};

use crate::collate::number;

/// `mantissa * 2^exponent`, the mantissa odd or zero.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sum {
    mantissa: BigInt,
    exponent: i32,
}

impl Sum {
    /// Adds a finite number.
    pub fn add(&mut self, value: f64) {
        self.merge(&Sum::of(value), false);
    }

    /// Takes one away.
    pub fn subtract(&mut self, value: f64) {
        self.merge(&Sum::of(value), true);
    }

    /// Adds another sum.
    pub fn add_sum(&mut self, other: &Sum) {
        self.merge(other, false);
    }

    fn of(value: f64) -> Sum {
        let bits = value.to_bits();
        let (fraction, power) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7ff) as i32);
        let (mantissa, exponent) = match power {
            0 => (fraction, -1074),
            _ => (fraction | 1 << 52, power - 1075),
        };
        let mantissa = BigInt::from(mantissa);
        let sum = Sum {
            mantissa: if value < 0.0 { -mantissa } else { mantissa },
            exponent,
        };
        sum.trimmed()
    }

    fn merge(&mut self, other: &Sum, is_less: bool) {
        // Most that is merged are counts, whose sums are nothing.
        if other.mantissa.sign() == Sign::NoSign {
            return;
        }
        let least = self.exponent.min(other.exponent);
        let at_least = |sum: &Sum| &sum.mantissa << (sum.exponent - least);
        let (own, other) = (at_least(self), at_least(other));
        let mantissa = if is_less { own - other } else { own + other };
        let exponent = least;
        *self = Sum { mantissa, exponent }.trimmed();
    }

    fn trimmed(mut self) -> Sum {
        match self.mantissa.trailing_zeros() {
            None => Sum::default(),
            Some(0) => self,
            Some(zeros) => {
                self.mantissa >>= zeros;
                self.exponent += zeros as i32;
                self
            }
        }
    }

    /// The nearest number.
    pub fn value(&self) -> f64 {
        const KEPT_BITS: u64 = 64;
        let (sign, magnitude) = self.mantissa.clone().into_parts();
        let cut = magnitude.bits().saturating_sub(KEPT_BITS);
        let mut kept = (&magnitude >> cut).iter_u64_digits().next().unwrap_or(0);
        // What is cut off decides between two that are equally near.
        if cut > 0 {
            kept |= 1;
        }
        let exponent = i64::from(self.exponent) + cut as i64;
        let mut value = kept as f64;
        let mut left = exponent;
        while left != 0 && value != 0.0 && value.is_finite() {
            let step = left.clamp(-1000, 1000);
            value *= 2.0_f64.powi(step as i32);
            left -= step;
        }
        if sign == Sign::Minus { -value } else { value }
    }

    /// As JSON, `null` where it is too large for a number.
    pub fn to_json(&self) -> String {
        json_of(self.value())
    }

    /// Its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mantissa = match self.mantissa.sign() {
            Sign::NoSign => Vec::new(),
            _ => self.mantissa.to_signed_bytes_le(),
        };
        out.put_i32_le(self.exponent);
        out.put_u16_le(mantissa.len() as u16);
        out.put_slice(&mantissa);
    }

    /// Reads them.
    pub fn decode(bytes: &mut &[u8]) -> Option<Sum> {
        let exponent = bytes.try_get_i32_le().ok()?;
        let length = usize::from(bytes.try_get_u16_le().ok()?);
        let (mantissa, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        let mantissa = BigInt::from_signed_bytes_le(mantissa);
        Some(Sum { mantissa, exponent })
    }
}

/// A number as JSON, which has finite ones alone.
pub(crate) fn json_of(value: f64) -> String {
    if value.is_finite() {
        number(value)
    } else {
        "null".to_owned()
    }
}

#[cfg(test)]
#[path = "sum_tests.rs"]
mod tests;
