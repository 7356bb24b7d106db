//! What plugs into the node: requests of other shards, and how transactional keyspaces are served.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use bytes::{Buf, Bytes};
use dunlin_node::Services;
use dunlin_node::http::{Answer, Ask, LocalFuture, Rejected, Rule};
use dunlin_node::plug::{Plug, Plugged, Transactional};
use dunlin_proto::{CANNOT, Response};
use dunlin_rpc::{Reply, Sink};

use crate::client::Client;
use crate::keep;
use crate::ranges::AtShard;
use crate::wire::{self, Asked, MESSAGES, SNAPSHOT};

/// Its number among the capabilities.
pub(crate) const NUMBER: u8 = 3;

/// Transactional keyspaces.
#[derive(Debug)]
pub struct Ranges;

impl Plug for Ranges {
    fn attach(&self) -> Rc<dyn Plugged> {
        Rc::new(Part::default())
    }
}

/// Its part at one shard.
#[derive(Default)]
pub(crate) struct Part {
    /// None before the shard holds anything.
    pub at_shard: RefCell<Option<Rc<AtShard>>>,
    /// Whether an earlier start has held anything here; looked for once.
    pub was_opened: OnceCell<bool>,
    /// Why log and store could not be opened, if so.
    pub trouble: RefCell<Option<String>>,
}

/// What a shard holds, where it holds anything.
pub(crate) fn at_shard(services: &Services) -> Option<Rc<AtShard>> {
    services.find::<Part>()?.at_shard.borrow().clone()
}

impl Plugged for Part {
    fn number(&self) -> u8 {
        NUMBER
    }

    fn rules(&self, _: &[&str]) -> Option<&'static [Rule]> {
        None
    }

    fn http(&self, _: Rc<Services>, _: Ask) -> LocalFuture<Result<Answer, Rejected>> {
        Box::pin(async { Err(Rejected::bad("no such path")) })
    }

    fn transactional(&self, services: &Rc<Services>) -> Option<Rc<dyn Transactional>> {
        Some(Rc::new(Client::new(services)))
    }

    fn run(&self, services: &Rc<Services>) {
        // The doubt of a start may be over soon.
        let may_have_forgotten = services.may_have_forgotten();
        let services = Rc::downgrade(services);
        tokio::task::spawn_local(keep::keep(services, may_have_forgotten));
    }

    fn call(&self, services: &Rc<Services>, mut body: Bytes, reply: Reply<Response>) {
        let kind = body.try_get_u8().unwrap_or(0);
        let own = self.at_shard.borrow().clone();
        if kind == MESSAGES {
            if let Some(own) = own {
                own.take_messages(body);
            }
            return reply.send(Response::Plug(Bytes::new()));
        }
        let Ok(asked) = Asked::decode(kind, body) else {
            return reply.refuse(CANNOT, "malformed bytes from another shard");
        };
        let services = services.clone();
        tokio::task::spawn_local(async move {
            let answer = match services.is_dropped(asked.keyspace()) {
                true => wire::Answer::NotLeader(None),
                false => match own {
                    Some(own) => own.serve(asked).await,
                    None => wire::Answer::NotLeader(None),
                },
            };
            reply.send(Response::Plug(answer.encode()));
        });
    }

    fn open(&self, _: &Rc<Services>, mut body: Bytes, sink: Sink<Response>) {
        let own = self.at_shard.borrow().clone();
        match (own, body.try_get_u8()) {
            (Some(own), Ok(SNAPSHOT)) => sink.work(move |sink| own.send_snapshot(body, sink)),
            _ => sink.refuse(CANNOT, "no replica of a range is here"),
        }
    }
}
