//! Requests that are passed on: two nodes may not reach each other, while both reach a third.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use dunlin_rpc::CallError;
use dunlin_txn::Answer;

use crate::wire::NUMBER;

/// Passes a request on to the leader of a range, once; returns what that replies, as bytes.
pub(crate) async fn pass_on(
    services: &Rc<Services>,
    to: ShardAddress,
    within: Duration,
    request: Bytes,
) -> Bytes {
    let nothing = || Answer::NotLeader(None).encode();
    if to == services.shard().address() || !services.is_reachable(to) {
        return nothing();
    }
    match services.ask(to, NUMBER, request, within).await {
        Ok(answer) => answer,
        Err(CallError::Overloaded | CallError::TooLarge { .. }) => nothing(),
        Err(_) => Answer::Unknown.encode(),
    }
}
