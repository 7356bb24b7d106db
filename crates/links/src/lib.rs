//! Links: clusters that follow one another (decision 62). Plugs into the node.
//!
//! A link sends the records and changes of a keyspace of mode quorum to a keyspace of another cluster, where each entry
//! keeps its timestamp: stored records first, then the log. The newest version wins there as here.
//!
//! | file | duty |
//! |---|---|
//! | `plug` | the paths, requests of other shards, a sender for each link at each shard, the age of links |
//! | `http` | paths; `create`, a new link; `check` (pure), the rules for it |
//! | `sender` | sends partitions from the committed progress on; `flow`, one stream of it; `post`, its batches |
//! | `pick` | pure: which entries of a stream are sent |
//! | `batch` | the body of a request |
//! | `window` | pure: batches in flight, and the token of the longest acknowledged prefix |
//! | `answer` | pure: the next step after an answer |
//! | `progress` | pure: the progress of a link; `kept`, its records |
//! | `age` | pure: how old a link may be |
//! | `receive` | the receiver's side: batches, and the description of a target |
//! | `inbound` | pure: a link from another cluster, and its age by the receiver's clock; `arrivals`, its record |
//! | `home` | the key of a home in a table |
//! | `sources` | pure: the links from other clusters to a keyspace, together |
//! | `repairs` | which entries may repair this cluster |
//! | `report` | the progress of a link by home, and its reports to the target |
//! | `system` | records in the keyspace `_system` |
//! | `transport` | the trait that carries requests to another cluster |
//! | `refused` | why a receiver refuses |
//! | `lookup` | keyspaces and links by their names |
//! | `times` | how long things take |
//! | `place` | this cluster, and the replica that sends a partition |
//! | `running` | the links that run at a shard |
//! | `verify/` | comparisons of two clusters: `digest`, `outcome` (pure), `range`, `serve`, `other`, `walk`, `confirm`, `repair`, `saved`, `run` |
//! | `gauge` | the state of a link at a shard; `status`, at all of them |
#![deny(unsafe_code)]

mod age;
mod answer;
mod arrivals;
mod batch;
mod check;
mod create;
mod flow;
mod gauge;
mod home;
mod http;
mod inbound;
mod kept;
mod lookup;
mod pick;
mod place;
mod plug;
mod post;
mod progress;
mod receive;
mod refused;
mod repairs;
mod report;
mod running;
mod sender;
mod sources;
mod status;
mod system;
mod times;
mod transport;
mod verify;
mod window;

pub use plug::Links;
pub use times::Times;
pub use transport::{Answered, Call, Connect, Transport};
