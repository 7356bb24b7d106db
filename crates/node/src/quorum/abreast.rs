//! Asking replicas as one for whom no change of the members waits: they answer only who acts by a phase no
//! older than theirs, and has said so (decision 37).

use std::rc::Rc;
use std::time::Duration;

use dunlin_proto::{BEHIND, Request, Response};
use dunlin_rpc::CallError;
use tokio::time::Instant;

use super::Coordinator;
use crate::limits::{CALL_TIMEOUT, REACH_WAIT};
use crate::shard::Peer;

/// How often it is looked whether the metadata has come.
const LOOK_PAUSE: Duration = Duration::from_millis(10);

impl Coordinator {
    /// Whether replicas may ask by which phase this node acts: members never are while none change.
    fn may_be_asked(&self) -> bool {
        let placement = self.shard.placement();
        placement.change.is_some() || !placement.is_awaited(self.shard.address().node)
    }

    /// Whether nobody waits for this node to confirm a phase.
    pub(super) fn is_bystander(&self) -> bool {
        !self.shard.placement().is_awaited(self.shard.address().node)
    }

    /// Calls a replica, at once, and again when that had first to be told by which phase this node acts.
    pub(super) fn call(
        self: &Rc<Self>,
        peer: &Rc<Peer>,
        request: Request,
        timeout: Duration,
    ) -> impl Future<Output = Result<Response, CallError>> + use<> {
        let asked = self
            .may_be_asked()
            .then(|| (self.clone(), peer.clone(), request.clone()));
        let call = peer.caller.call(request, timeout);
        async move {
            match (call.await, asked) {
                (Err(CallError::Refused { code: BEHIND, text }), Some((own, peer, request))) => {
                    // On the heap: rare, and every read would carry it along.
                    let again = Box::pin(async move {
                        if own.comes_abreast(&peer).await {
                            peer.caller.call(request, timeout).await
                        } else {
                            Err(CallError::Refused { code: BEHIND, text })
                        }
                    });
                    again.await
                }
                (answer, _) => answer,
            }
        }
    }

    /// Tells a replica by which phase this node acts; false when that is behind, after a moment in which
    /// the metadata may have come.
    async fn comes_abreast(&self, peer: &Peer) -> bool {
        let step = self.shard.placement().step();
        match peer.caller.call(Request::Acts(step), CALL_TIMEOUT).await {
            Ok(Response::Done) => true,
            Err(CallError::Refused { code: BEHIND, .. }) => {
                let begun = Instant::now();
                while self.shard.placement().step() == step && begun.elapsed() < REACH_WAIT {
                    tokio::time::sleep(LOOK_PAUSE).await;
                }
                false
            }
            _ => false,
        }
    }
}
