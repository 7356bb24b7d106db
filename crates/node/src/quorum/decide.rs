//! The choices of a coordinator, apart from any I/O.

use std::cmp::Ordering;

use dunlin_proto::{Item, ReadAnswer, ShardAddress};

/// How many of how many replicas must answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quorum {
    /// Answers needed.
    pub ack: u8,
    /// Replicas asked.
    pub from: u8,
}

/// Why a pair of ack and from makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuorumError {
    /// `ack` below one.
    #[error("ack must be at least 1")]
    NoAck,
    /// `ack` above `from`.
    #[error("ack={ack} is more than from={from}")]
    AckAboveFrom {
        /// As asked.
        ack: u32,
        /// As asked or by default.
        from: u32,
    },
    /// `from` above both the replicas of the keyspace and the nodes there are.
    #[error(
        "from={from} is more than the {replicas} replicas of the keyspace and than the {nodes} nodes of the cluster"
    )]
    FromAboveNodes {
        /// As asked.
        from: u32,
        /// Of the keyspace.
        replicas: u8,
        /// In the cluster.
        nodes: usize,
    },
}

impl Quorum {
    /// Fills in the defaults (all replicas of the keyspace, a majority of them) and checks what was asked for.
    ///
    /// # Errors
    /// When the numbers contradict one another or the cluster.
    pub fn choose(
        ack: Option<u32>,
        from: Option<u32>,
        replicas: u8,
        nodes: usize,
    ) -> Result<Quorum, QuorumError> {
        // Replicas that are wanted and not there yet, in a cluster that is starting, are waited for:
        // what makes sense a moment later is not refused for good.
        if let Some(from) = from
            && from as usize > nodes.max(replicas.into())
        {
            return Err(QuorumError::FromAboveNodes {
                from,
                replicas,
                nodes,
            });
        }
        let from = from.unwrap_or(replicas.into());
        let ack = ack.unwrap_or(from / 2 + 1);
        if ack < 1 {
            return Err(QuorumError::NoAck);
        }
        if ack > from {
            return Err(QuorumError::AckAboveFrom { ack, from });
        }
        // Neither passes the number of nodes, which metadata bounds far below 256.
        Ok(Quorum {
            ack: ack.min(255) as u8,
            from: from.min(255) as u8,
        })
    }
}

/// In which order to try replicas: this shard first when it is one (saves a
/// hop), then the connected in placement order turned by `turn` to spread load,
/// then the others as a last resort.
pub fn try_order(
    replicas: &[ShardAddress],
    here: ShardAddress,
    turn: usize,
    connected: impl Fn(ShardAddress) -> bool,
) -> Vec<ShardAddress> {
    let mut order: Vec<ShardAddress> = Vec::with_capacity(replicas.len());
    if replicas.contains(&here) {
        order.push(here);
    }
    let others = || replicas.iter().copied().filter(|r| *r != here);
    let up: Vec<ShardAddress> = others().filter(|r| connected(*r)).collect();
    if !up.is_empty() {
        let start = turn % up.len();
        order.extend_from_slice(&up[start..]);
        order.extend_from_slice(&up[..start]);
    }
    order.extend(others().filter(|r| !connected(*r)));
    order
}

/// Answers to one read, as they come in.
#[derive(Debug, Default)]
pub struct Answers {
    seen: Vec<(ShardAddress, Option<Item>)>,
    /// Where in `seen` the newest is.
    newest: usize,
    /// Nearly all reads find the same everywhere: they compare once an answer, and no more.
    is_at_odds: bool,
}

impl Answers {
    /// Takes an answer; false when the replica could give none.
    pub fn add(&mut self, from: ShardAddress, answer: ReadAnswer) -> bool {
        let item = match answer {
            ReadAnswer::Absent => None,
            ReadAnswer::Value(item) => Some(item),
            // The value in hand when the question was asked was the newest then.
            ReadAnswer::Same => {
                let newest = self.newest().cloned();
                self.seen.push((from, newest));
                return true;
            }
            ReadAnswer::Unknown => return false,
        };
        let order = if self.seen.is_empty() {
            Ordering::Equal
        } else {
            item.as_ref()
                .map(Item::rank)
                .cmp(&self.newest().map(Item::rank))
        };
        if order != Ordering::Less {
            self.newest = self.seen.len();
        }
        self.is_at_odds |= order != Ordering::Equal;
        self.seen.push((from, item));
        true
    }

    /// Replicas that have answered.
    pub fn answered(&self) -> Vec<ShardAddress> {
        self.seen.iter().map(|(from, _)| *from).collect()
    }

    /// Those that answered with the newest.
    pub fn fresh(&self) -> Vec<ShardAddress> {
        let stale = self.stale();
        let mut all = self.answered();
        all.retain(|replica| !stale.contains(replica));
        all
    }

    /// Whether this replica has answered.
    pub fn has(&self, replica: ShardAddress) -> bool {
        self.seen.iter().any(|(from, _)| *from == replica)
    }

    /// Replicas that answered.
    pub fn count(&self) -> usize {
        self.seen.len()
    }

    /// The newest of the answers.
    pub fn newest(&self) -> Option<&Item> {
        self.seen
            .get(self.newest)
            .and_then(|(_, item)| item.as_ref())
    }

    /// The newest of the answers, for good.
    pub fn into_newest(mut self) -> Option<Item> {
        if self.newest < self.seen.len() {
            self.seen.swap_remove(self.newest).1
        } else {
            None
        }
    }

    /// Whether all who answered hold the same.
    pub fn agree(&self) -> bool {
        !self.is_at_odds
    }

    /// The answer that came first.
    pub fn first(&self) -> Option<&Item> {
        self.seen.first().and_then(|(_, item)| item.as_ref())
    }

    /// Replicas whose answer is older than the newest.
    pub fn stale(&self) -> Vec<ShardAddress> {
        if self.agree() {
            return Vec::new();
        }
        let newest = self.newest().map(Item::rank);
        self.seen
            .iter()
            .filter(|(_, item)| item.as_ref().map(Item::rank) < newest)
            .map(|(from, _)| *from)
            .collect()
    }
}

/// How many more replicas must have what a majority read has seen before it may be shown: as many
/// as a write of the same numbers would need, in the same phase of a change of the members. Else one
/// who reads a moment later, by the same or by a neighbouring phase, could see less (decision 19).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lacking {
    /// Of those that are read.
    of_replicas: usize,
    /// Of the other set, while the replicas change from one to another.
    of_also: usize,
}

impl Lacking {
    /// With `need` of each set needed, or all of one that has fewer, and `have` the replicas that
    /// have it.
    pub fn of(
        need: usize,
        replicas: &[ShardAddress],
        also: &[ShardAddress],
        have: &[ShardAddress],
    ) -> Lacking {
        let lacking = |set: &[ShardAddress]| {
            let got = set.iter().filter(|replica| have.contains(replica)).count();
            need.min(set.len()).saturating_sub(got)
        };
        Lacking {
            of_replicas: lacking(replicas),
            of_also: lacking(also),
        }
    }

    /// Whether it may be shown.
    pub fn is_nothing(self) -> bool {
        self.most() == 0
    }

    /// How many are lacking of the set that lacks most.
    pub fn most(self) -> usize {
        self.of_replicas.max(self.of_also)
    }

    /// Those who may be the ones that are lacking.
    pub fn whom_to_ask(
        self,
        replicas: &[ShardAddress],
        also: &[ShardAddress],
    ) -> impl Iterator<Item = ShardAddress> {
        let of = |set: &[ShardAddress], lacking| match lacking {
            0 => Vec::new(),
            _ => set.to_vec(),
        };
        let asked = of(replicas, self.of_replicas).into_iter();
        asked.chain(of(also, self.of_also))
    }
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
