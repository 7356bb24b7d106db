//! Followers that roam also follow the merged stream of a node, as its clients do: cut short anywhere, and its sources
//! lost under it. What its tokens say was told is compared with stores at the next shard they come to.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_changes::{Asked, Merged, Told};
use dunlin_node::{Next, Services};
use rand::Rng;
use rand::rngs::StdRng;
use tokio::time::timeout;

use crate::followers::{Follower, Last};
use crate::harness::host::Host;

impl Follower {
    /// Follows a node for a while; what it was told wrongly, if anything.
    pub(crate) async fn stream(
        &mut self,
        host: &Host,
        services: &Rc<Services>,
        random: &mut StdRng,
    ) -> Option<String> {
        let asked = Asked {
            keyspace: self.keyspace,
            prefix: Bytes::new(),
            only_here: false,
            keys_only: false,
            who: "the simulation".to_owned(),
        };
        let from = match &self.token {
            Some((token, _)) => token.clone(),
            None => Merged::beginning(services, self.keyspace),
        };
        let mut merged = Merged::new(services, asked, self.partitions.clone(), Some(from), None);
        let mut last = Last::new();
        let steps = if random.random_bool(0.7) {
            random.random_range(1..6)
        } else {
            random.random_range(6..60)
        };
        for _ in 0..steps {
            let changes_max = if random.random_bool(0.3) {
                random.random_range(1..4)
            } else {
                usize::MAX
            };
            let wait = Duration::from_millis(random.random_range(20..600));
            let Ok(told) = timeout(wait, merged.next_at_most(changes_max)).await else {
                if random.random_bool(0.3) {
                    break;
                }
                continue;
            };
            let next = match told {
                Told::Beat | Told::Moved { .. } => None,
                Told::Done | Told::Dropped => break,
                Told::PutBack => return Some("the log is said to have been put back".to_owned()),
                Told::Entries(changes) => {
                    let entries = changes.iter().map(|change| (***change).clone());
                    Some(Next::Entries(entries.collect()))
                }
                Told::Records {
                    partition,
                    begins,
                    records,
                    ends,
                } => {
                    let begins = begins.map(|(scope, token)| {
                        let none = Next::Records {
                            partition,
                            begins: Some(scope),
                            records: Vec::new(),
                            ends: false,
                        };
                        (none, *token)
                    });
                    if let Some((none, token)) = begins {
                        self.take(none, &mut last, host, merged.teller());
                        self.keep(token, host, services);
                        // What it has is no more than its token says, should it end here.
                        if random.random_bool(0.2) {
                            break;
                        }
                    }
                    Some(Next::Records {
                        partition,
                        begins: None,
                        records,
                        ends,
                    })
                }
            };
            if let Some(next) = next {
                let count = match &next {
                    Next::Entries(entries) => entries.len(),
                    Next::Records { records, .. } => records.len(),
                };
                let streamed = &host.shared.followers.streamed;
                streamed.set(streamed.get() + 1);
                if let Some(text) = self.take(next, &mut last, host, merged.teller()) {
                    return Some(format!("a stream of {}: {text}", host.name));
                }
                // It may have been cut short there, which is its end.
                if count == changes_max {
                    self.keep_all(&merged, host, services);
                    break;
                }
            }
            self.keep_all(&merged, host, services);
        }
        None
    }

    fn keep_all(&mut self, merged: &Merged, host: &Host, services: &Services) {
        if let Some(token) = merged.token() {
            self.keep(token, host, services);
        }
    }

    fn keep(&mut self, token: dunlin_proto::Token, host: &Host, services: &Services) {
        let again = token.to_string().parse().ok();
        assert_eq!(again, Some(token.clone()));
        let happenings = &host.shared.followers.happenings;
        let given = happenings.give(&host.shared, services, self.keyspace, &self.partitions);
        self.token = Some((token, given));
    }
}
