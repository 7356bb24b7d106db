//! Keys of 16 bytes: one letter for their set, then 15 hexadecimal digits.

/// Length of every key.
pub const KEY_LENGTH: usize = 16;

const BITS: u32 = 60;
const MASK: u64 = (1 << BITS) - 1;

/// In which order a set numbers its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Growing keys: every write lands at the end of the key space.
    Sequential,
    /// Scattered keys, each still unique.
    Random,
}

/// A set of distinct keys, by number.
#[derive(Debug, Clone, Copy)]
pub struct KeySet {
    /// The letter that keeps sets apart.
    pub tag: u8,
    /// How numbers become keys.
    pub order: Order,
}

impl KeySet {
    /// Key number `number` (below 2^60).
    pub fn key(&self, number: u64) -> [u8; KEY_LENGTH] {
        let mut rest = match self.order {
            Order::Sequential => number & MASK,
            Order::Random => scatter(number),
        };
        let mut key = [self.tag; KEY_LENGTH];
        for digit in key[1..].iter_mut().rev() {
            *digit = b"0123456789abcdef"[(rest & 15) as usize];
            rest >>= 4;
        }
        key
    }
}

/// The key that a connection waits for.
#[derive(Debug, Default, Clone, Copy)]
pub struct Asked {
    /// Its number in the set.
    pub number: u64,
    /// The key itself.
    pub key: [u8; KEY_LENGTH],
}

/// A bijection of the 60-bit numbers: each step can be undone, so no two keys collide.
fn scatter(number: u64) -> u64 {
    let mut x = number & MASK;
    x = x.wrapping_mul(0x9e37_79b9_7f4a_7c15) & MASK;
    x ^= x >> 31;
    x = x.wrapping_mul(0xbf58_476d_1ce4_e5b9) & MASK;
    x ^= x >> 29;
    x
}

/// The keys of a workload, one after the other.
#[derive(Debug, Clone)]
pub struct Keys {
    set: KeySet,
    choice: Choice,
}

impl Keys {
    /// Those of the set that `choice` chooses.
    pub fn new(set: KeySet, choice: Choice) -> Keys {
        Keys { set, choice }
    }

    /// The next, `None` when there are no more.
    pub fn advance(&mut self) -> Option<Asked> {
        let number = self.choice.advance()?;
        let key = self.set.key(number);
        Some(Asked { number, key })
    }
}

/// Which key comes next.
#[derive(Debug, Clone)]
pub enum Choice {
    /// Every number once, in order, up to `end`.
    Each {
        /// The next number.
        next: u64,
        /// The number after the last.
        end: u64,
    },
    /// Any of the first `count`, by a seeded generator.
    Any {
        /// Keys to choose from.
        count: u64,
        /// State of the generator.
        state: u64,
    },
}

impl Choice {
    /// The next number, `None` when there are no more.
    pub fn advance(&mut self) -> Option<u64> {
        match self {
            Choice::Each { next, end } => {
                let number = *next;
                (number < *end).then(|| {
                    *next += 1;
                    number
                })
            }
            Choice::Any { count, state } => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut x = *state;
                x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                x ^= x >> 31;
                Some(((u128::from(x) * u128::from(*count)) >> 64) as u64)
            }
        }
    }
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
