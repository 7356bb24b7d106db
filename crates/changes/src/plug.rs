//! What plugs into the node: the paths of change streams, and requests of other shards.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Need, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged};
use dunlin_proto::{CANNOT, Response};
use dunlin_rpc::{Reply, Sink};
use hyper::Method;

use crate::body;
use crate::item::Open;
use crate::reading::Reading;
use crate::subscription::{PARAMS, Subscription};
use crate::target;

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 1;

const OF_CHANGES: &[Rule] = &[Rule::new(
    Method::GET,
    PARAMS,
    Need::Keyspace(dunlin_metadata::Role::Read),
)];

/// Change streams.
#[derive(Debug)]
pub struct Changes;

impl Plug for Changes {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(AtShard)
    }
}

struct AtShard;

impl Plugged for AtShard {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, parts: &[&str]) -> Option<&'static [Rule]> {
        match parts {
            ["keyspaces", _, "changes"] => Some(OF_CHANGES),
            _ => None,
        }
    }

    fn http(&self, services: Rc<Services>, ask: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        Box::pin(async move {
            let subscription = Subscription::of(&services, &ask)?;
            Ok(body::answer(services, subscription, ask))
        })
    }

    fn call(&self, services: &Rc<Services>, _: Bytes, reply: Reply<Response>) {
        reply.send(Response::Plug(target::answer(services)));
    }

    fn open(&self, services: &Rc<Services>, body: Bytes, sink: Sink<Response>) {
        let open = match Open::decode(body) {
            Ok(open) => open,
            Err(malformed) => return sink.refuse(CANNOT, &malformed.to_string()),
        };
        let services = services.clone();
        sink.work(move |sink| send_all(services, open, sink));
    }
}

/// Streams one follower to another shard.
async fn send_all(services: Rc<Services>, open: Open, mut sink: Sink<Response>) {
    let mut reading = match Reading::open(&services, open).await {
        Ok(reading) => reading,
        Err(error) => return sink.refuse(CANNOT, &error.to_string()),
    };
    loop {
        let item = match reading.next().await {
            Ok(item) => item,
            Err(error) => return sink.refuse(CANNOT, &error.to_string()),
        };
        let is_done = item.is_done;
        if let Err(error) = sink.send(Response::Plug(item.encode())).await {
            tracing::debug!(%error, "a change stream of another shard ends");
            return;
        }
        if is_done {
            return sink.end();
        }
    }
}
