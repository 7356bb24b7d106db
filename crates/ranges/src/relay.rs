//! Requests that are passed on: two nodes may not reach each other, while both reach a third.

use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use dunlin_node::Services;
use dunlin_proto::ShardAddress;
use dunlin_rpc::CallError;

use crate::wire::NUMBER;

/// A request that was passed on, of which it is not known whether it happened.
pub(crate) struct Unanswered;

/// Passes a request on, once; returns the reply, as bytes, or another where it could not be sent.
///
/// # Errors
/// When it may have happened.
pub(crate) async fn pass_on(
    services: &Rc<Services>,
    to: ShardAddress,
    within: Duration,
    request: Bytes,
    unsent: Bytes,
) -> Result<Bytes, Unanswered> {
    if to == services.shard().address() || !services.is_reachable(to) {
        return Ok(unsent);
    }
    match services.ask(to, NUMBER, request, within).await {
        Ok(answer) => Ok(answer),
        Err(CallError::Overloaded | CallError::TooLarge { .. }) => Ok(unsent),
        Err(_) => Err(Unanswered),
    }
}

/// A shard of another node that passes requests on to one that cannot be reached from here, each time another.
pub(crate) fn relay_to(services: &Services, to: ShardAddress) -> Option<ShardAddress> {
    let own = services.shard().address().node;
    let shards = services.all_shards().into_iter().map(|(at, _)| at);
    let others = shards.filter(|at| at.node != own && at.node != to.node);
    let others: Vec<_> = others.filter(|at| services.is_reachable(*at)).collect();
    let turn = services.next_turn() % others.len().max(1);
    others.get(turn).copied()
}
