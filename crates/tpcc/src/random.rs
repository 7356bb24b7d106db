//! Random values as the specification has them (clause 4.3 of TPC-C 5.11).

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::rows::Address;

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];
const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
const DIGITS: &[u8] = b"0123456789";
const ORIGINAL: &str = "ORIGINAL";

/// The constants A of NURand.
const A_LAST: u32 = 255;
const A_CUSTOMER: u32 = 1_023;
const A_ITEM: u32 = 8_191;

/// The constants C of non-uniform numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constants {
    /// Of last names.
    pub last: u32,
    /// Of customers.
    pub customer: u32,
    /// Of items.
    pub item: u32,
}

impl Constants {
    /// Those to load with.
    pub fn of_load(random: &mut Random) -> Constants {
        Constants {
            last: random.number(0, A_LAST),
            customer: random.number(0, A_CUSTOMER),
            item: random.number(0, A_ITEM),
        }
    }

    /// Those of a run: that of last names is 65 to 119 away from the load's, but not 96 or 112 (clause 2.1.6.1).
    pub fn of_run(self, random: &mut Random) -> Constants {
        let all = Constants::of_load(random);
        let is_fit = |last: &u32| {
            let delta = last.abs_diff(self.last);
            (65..=119).contains(&delta) && delta != 96 && delta != 112
        };
        let fit: Vec<u32> = (0..=A_LAST).filter(is_fit).collect();
        let last = fit[random.number(0, fit.len() as u32 - 1) as usize];
        Constants { last, ..all }
    }
}

/// A source of random values: the same for the same seed.
#[derive(Debug)]
pub struct Random(StdRng);

impl Random {
    /// From a seed.
    pub fn new(seed: u64) -> Random {
        Random(StdRng::seed_from_u64(seed))
    }

    /// For one of several users of a seed.
    pub fn of(seed: u64, user: u64) -> Random {
        Random::new(seed ^ user.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// From `low` to `high`, both possible, each as likely.
    pub fn number(&mut self, low: u32, high: u32) -> u32 {
        self.0.random_range(low..=high)
    }

    /// The same for money, in cents.
    pub fn cents(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    /// Whether something happens that does in so many of 100.
    pub fn percent(&mut self, of_100: u32) -> bool {
        self.number(1, 100) <= of_100
    }

    /// NURand(a, low, high) with the constant `c`.
    fn non_uniform(&mut self, a: u32, c: u32, low: u32, high: u32) -> u32 {
        let drawn = self.number(0, a) | self.number(low, high);
        (drawn + c) % (high - low + 1) + low
    }

    /// A customer of so many.
    pub fn customer(&mut self, constants: Constants, customers: u32) -> u32 {
        self.non_uniform(A_CUSTOMER, constants.customer, 1, customers)
    }

    /// An item of so many.
    pub fn item(&mut self, constants: Constants, items: u32) -> u32 {
        self.non_uniform(A_ITEM, constants.item, 1, items)
    }

    /// The number of a last name, of so many customers in a district: those below 1,000 have the first names.
    pub fn last_name(&mut self, constants: Constants, customers: u32) -> String {
        last_name(self.non_uniform(A_LAST, constants.last, 0, customers.min(1_000) - 1))
    }

    /// A time with this mean, exponentially distributed, at most ten times as long.
    pub fn think(&mut self, mean: Duration) -> Duration {
        let drawn = -(1.0 - self.0.random::<f64>()).ln();
        mean.mul_f64(drawn.min(10.0))
    }

    /// Letters and digits, from `low` to `high` of them.
    pub fn text(&mut self, low: u32, high: u32) -> String {
        let length = self.number(low, high);
        (0..length).map(|_| self.of_alphabet(LETTERS)).collect()
    }

    /// Digits, so many.
    pub fn digits(&mut self, length: u32) -> String {
        (0..length).map(|_| self.of_alphabet(DIGITS)).collect()
    }

    fn of_alphabet(&mut self, alphabet: &[u8]) -> char {
        char::from(alphabet[self.0.random_range(0..alphabet.len())])
    }

    /// Text of 26 to 50 letters; one of ten has the word ORIGINAL in it.
    pub fn data(&mut self) -> String {
        let mut text = self.text(26, 50);
        if self.percent(10) {
            let room = text.len() - ORIGINAL.len();
            let at = self.number(0, room as u32) as usize;
            text.replace_range(at..at + ORIGINAL.len(), ORIGINAL);
        }
        text
    }

    /// An address.
    pub fn address(&mut self) -> Address {
        Address {
            street_1: self.text(10, 20),
            street_2: self.text(10, 20),
            city: self.text(10, 20),
            state: self.text(2, 2),
            zip: self.digits(4) + "11111",
        }
    }

    /// The same values in another order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.0.random_range(0..=last));
        }
    }
}

/// A last name by its number below 1,000: three syllables.
pub fn last_name(number: u32) -> String {
    let digit = |of: u32| SYLLABLES[(number / of % 10) as usize];
    [digit(100), digit(10), digit(1)].concat()
}

#[cfg(test)]
#[path = "random_tests.rs"]
mod tests;
