//! An operator who compares linked clusters again and again, while clients write and machines fail.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_proto::api::{Difference, LinkVerified, VerifyPhase};
use dunlin_rpc::Caller;
use tokio::time::sleep;

use super::KEYSPACE;
use super::names::link_name;
use super::plan::{Forgets, LinkPlan, NODES, Shape};
use super::transport::ask_http;
use crate::harness::ask::{Ask, Told};

const PAUSE: Duration = Duration::from_millis(300);
/// Links of larger meshes are not compared.
const LINKS: usize = 3;
/// How long a comparison waits for writes, in seconds, and how long its answer is waited for.
const WAIT_S: u64 = 25;
const TIMEOUT: Duration = Duration::from_secs(90);

/// The results of comparisons.
#[derive(Debug, Default)]
pub struct Comparisons {
    /// The first difference that cannot be: nothing acknowledged is lost.
    pub wrong: RefCell<Option<String>>,
    /// The links whose clusters were equal lately, each by its two clusters.
    pub equal: RefCell<BTreeSet<(usize, usize)>>,
    /// Comparisons that came to an end.
    pub ended: Cell<u64>,
}

/// Whether a cluster has lost a record, as a comparison says.
fn is_loss(what: Difference) -> bool {
    match what {
        Difference::NewerThere => false,
        Difference::MissingThere
        | Difference::MissingOrDeletedThere
        | Difference::NotDeletedThere
        | Difference::OtherValue
        | Difference::MissingHere => true,
    }
}

impl Comparisons {
    /// Whether runs of a plan compare: deletes are not forgotten, and no link breaks.
    pub fn are_made(plan: &LinkPlan) -> bool {
        plan.forgets == Forgets::Never
    }

    /// The links whose clusters are compared.
    pub fn links(plan: &LinkPlan) -> Vec<(usize, usize)> {
        plan.links().into_iter().take(LINKS).collect()
    }

    fn note(&self, plan: &LinkPlan, link: (usize, usize), result: &LinkVerified) {
        self.ended.set(self.ended.get() + 1);
        let mut kinds = result.differences.keys();
        if kinds.any(|what| is_loss(*what)) {
            let name = link_name(link.0, link.1);
            let line = format!("a comparison of link {name} says {result:?}");
            self.wrong.borrow_mut().get_or_insert(line);
        }
        // Writes of the last cluster of a line arrive in no other.
        let is_equal = result.differences.is_empty() || plan.shape == Shape::Line;
        if is_equal && result.not_known == 0 {
            self.equal.borrow_mut().insert(link);
        }
    }

    /// Compares the clusters of a link again and again, each time from another node.
    pub async fn run(
        comparisons: Rc<Comparisons>,
        plan: LinkPlan,
        link: (usize, usize),
        nodes: Rc<Vec<Caller<Ask, Told>>>,
    ) {
        let name = link_name(link.0, link.1);
        let path = format!("/v1/keyspaces/{KEYSPACE}/links/{name}/verify?timeout_s={WAIT_S}");
        for turn in 0.. {
            sleep(PAUSE).await;
            let node = &nodes[turn % NODES];
            let answer = ask_http(node, "POST", &path, Bytes::new(), TIMEOUT).await;
            let Ok((200, body)) = answer else { continue };
            let last = body.split(|byte| *byte == b'\n').rfind(|l| !l.is_empty());
            let result = last.and_then(|line| serde_json::from_slice::<LinkVerified>(line).ok());
            if let Some(result) = result.filter(|result| result.phase == VerifyPhase::Done) {
                tracing::info!(?result, name, "a comparison");
                comparisons.note(&plan, link, &result);
            }
        }
    }
}
