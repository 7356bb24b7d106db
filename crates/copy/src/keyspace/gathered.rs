//! Pairs of a range that wait to be sent: in one body, or by partition in several.

use dunlin_client::{PairError, Pairs, PairsBody, partition_of};

/// Room for the pair that fills a body.
const ROOM_BYTES: usize = 64 << 10;

/// Pairs that wait to be sent.
///
/// Nodes make a file of each partition of a body. A stretch of keys in several bodies, each with some of the
/// partitions, makes fewer and larger ones than the same bytes one after another, with all of them in each.
pub(super) struct Gathered {
    bodies: Vec<Pairs>,
    partitions: u16,
}

impl Gathered {
    /// In so many bodies, of a keyspace with so many partitions.
    pub fn new(bodies: usize, partitions: u16) -> Gathered {
        let bodies = bodies.clamp(1, usize::from(partitions).max(1));
        Gathered {
            bodies: vec![Pairs::default(); bodies],
            partitions,
        }
    }

    /// In how many bodies.
    pub fn len(&self) -> usize {
        self.bodies.len()
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bodies.iter().all(Pairs::is_empty)
    }

    /// The most that waits in one body, in bytes.
    pub fn bytes_max(&self) -> usize {
        let bytes = self.bodies.iter().map(Pairs::encoded_bytes);
        bytes.max().unwrap_or(0)
    }

    /// Adds a pair; gives it as it is encoded.
    ///
    /// # Errors
    /// The pair cannot travel.
    pub fn push(&mut self, key: &[u8], value: &[u8]) -> Result<&[u8], PairError> {
        let number = self.body_of(key);
        self.bodies[number].push(key, value)
    }

    /// The body of `key`, when it has so many bytes.
    pub fn take_full(&mut self, key: &[u8], bytes: usize) -> Option<PairsBody> {
        let (number, many) = (self.body_of(key), self.bodies.len() > 1);
        let body = self.bodies.get_mut(number)?;
        // Of many each grows by itself: they are not all as large at a time.
        let room = match many {
            false => Pairs::with_capacity(bytes + ROOM_BYTES),
            true => Pairs::default(),
        };
        (body.encoded_bytes() >= bytes).then(|| std::mem::replace(body, room).seal())
    }

    /// All that waits.
    pub fn take_all(&mut self) -> Vec<PairsBody> {
        let some = self.bodies.iter_mut().filter(|body| !body.is_empty());
        some.map(|body| std::mem::take(body).seal()).collect()
    }

    fn body_of(&self, key: &[u8]) -> usize {
        match self.bodies.len() {
            1 => 0,
            bodies => {
                let partition = usize::from(partition_of(key, self.partitions));
                partition * bodies / usize::from(self.partitions)
            }
        }
    }
}

#[cfg(test)]
#[path = "gathered_tests.rs"]
mod tests;
