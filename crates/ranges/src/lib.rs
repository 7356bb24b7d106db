//! Transactional keyspaces: ranges of keys that are replicated by consensus, so that each key is a register.
//! Plugs into the node.
//!
//! | file | what it does |
//! |---|---|
//! | `plug` | what plugs into the node: requests of other shards, status |
//! | `keep` | at each shard: opens log and store, looks after its replicas, flushes, releases |
//! | `begin` | replicas are made, begin to speak, and go |
//! | `descriptor` | pure: the replicas of a range, and their changes |
//! | `next_step` | pure: the next change towards where replicas should be |
//! | `place` | pure: which replica may be made, which are heard, and which go |
//! | `handover` | a leader has another replica lead in its stead |
//! | `recover` | pure: whether a range has lost its majority for good, and with what it begins again |
//! | `survey` | what each shard holds of such a range |
//! | `recoveries` | an operator recovers one |
//! | `targets` | where an operator wants replicas |
//! | `conduct` | a leader takes these steps, and publishes the replicas of its range |
//! | `hold` | pure: which entries stay in memory behind a copy |
//! | `prepare` | the other side: whether a replica is here, and whether one may be made |
//! | `others` | the other replicas, as one knows them |
//! | `ranges` | the replicas at a shard, with the log and the store that they share |
//! | `start` | pure: whether a replica may speak, by what its record, its store and its log say |
//! | `group` | one replica: its raft node, and who waits for it |
//! | `drive` | the one task that takes all of them on: messages, proposals, reads, ticks |
//! | `ready` | what raft hands out: to the log, to the store, to who waits |
//! | `reads` | pure: who may read once which round has ended |
//! | `send`, `outgoing` | messages to other replicas, those of all groups together |
//! | `snapshot` | a whole range to a replica that is too far behind |
//! | `serve` | a request at the leader; the steps are in `dunlin_txn` |
//! | `stamps` | timestamps of the oracle, for all who wait at a shard |
//! | `steady` | a clock that does not leap ahead: versions and ids are kept for a time by it |
//! | `tend` | what leaders do unasked |
//! | `limits` | bounds of transactions, as a node is told them |
//! | `http` | `/v1/txn`: a transaction in one request |
//! | `body` | pure: what a client sends and is sent, as JSON |
//! | `budget` | memory of values that a request reads for its client |
//! | `interactive` | transactions over several requests, at the shard that keeps them |
//! | `step` | pure: steps of those, and replies |
//! | `open` | those that are open at a shard |
//! | `interactive_http` | the same from any node, over HTTP |
//! | `direct` | transactions of clients without HTTP between |
//! | `one_range` | a transaction in one range, evaluated by its leader |
//! | `outcome` | what became of a transaction in one request |
//! | `one_shot` | reads, checks and writes at one timestamp, tried again at another |
//! | `finished` | holders of records are told who knows that they committed |
//! | `client` | the same from any node: who leads, and what may be tried again |
//! | `wire` | requests and answers as bytes |
#![deny(unsafe_code)]

mod begin;
mod births;
mod body;
mod budget;
mod client;
mod conduct;
mod descriptor;
mod direct;
mod drive;
mod finished;
mod group;
mod handover;
mod health;
mod hold;
mod hot;
mod http;
mod interactive;
mod interactive_http;
mod keep;
mod keyspaces;
mod limits;
mod locked;
mod next_step;
mod one_range;
mod one_shot;
mod open;
mod others;
mod outcome;
mod outgoing;
mod place;
mod plug;
mod positions;
mod prepare;
mod propose;
mod ranges;
mod read_set;
mod reads;
mod ready;
mod recover;
mod recoveries;
mod relay;
mod resign;
mod send;
mod serve;
mod snapshot;
mod stamps;
mod start;
mod status;
mod steady;
mod step;
mod sum;
mod survey;
mod targets;
mod tend;
mod wire;

pub use direct::DirectSession;
pub use limits::Limits;
pub use plug::Ranges;
