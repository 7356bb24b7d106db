//! What a shard knows of the users, as of the topology that it has taken over.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

use dunlin_log::Runner;
use dunlin_metadata::{Access, Topology};

use crate::logins::{Sha, hex};

/// The users at one moment.
pub(crate) struct Known {
    topology: Arc<Topology>,
    /// Whose each token is, by its hash as it is stored.
    tokens: HashMap<String, Rc<str>>,
}

impl Known {
    fn of(topology: Arc<Topology>) -> Rc<Known> {
        let users = topology.access.users.iter();
        let tokens = users.flat_map(|(name, user)| {
            let name: Rc<str> = name.as_str().into();
            let hashes = user.tokens.iter();
            hashes.map(move |hash| (hash.reveal().to_owned(), name.clone()))
        });
        let tokens = tokens.collect();
        Rc::new(Known { topology, tokens })
    }

    pub fn access(&self) -> &Access {
        &self.topology.access
    }

    /// Whose token has this hash. That the time tells how far hashes are equal tells nobody a token.
    pub fn of_token(&self, hash: &Sha) -> Option<Rc<str>> {
        self.tokens.get(hex(hash).reveal()).cloned()
    }
}

/// Who is to be asked who he is.
pub(crate) struct Guard {
    is_closed: Cell<bool>,
    known: RefCell<Rc<Known>>,
    runner: OnceCell<Runner>,
    name: String,
}

impl Guard {
    pub fn new(shard: &str) -> Guard {
        Guard {
            is_closed: Cell::new(false),
            known: RefCell::new(Known::of(Arc::default())),
            runner: OnceCell::new(),
            name: format!("{shard}-login"),
        }
    }

    /// Whether anybody is asked: the one thing that a request looks at in a cluster without users.
    pub fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// The users now.
    pub fn known(&self) -> Rc<Known> {
        self.known.borrow().clone()
    }

    /// How often they were changed.
    pub fn changes(&self) -> u64 {
        self.known.borrow().access().changes
    }

    /// Takes over the users of a topology.
    pub fn follow(&self, topology: &Arc<Topology>) {
        if *self.known.borrow().access() != topology.access {
            self.known.replace(Known::of(topology.clone()));
            self.is_closed.set(topology.access.closed);
        }
    }

    /// Where passwords are checked. Started by the first, so that clusters without users have no
    /// threads for them.
    pub fn runner(&self) -> io::Result<Runner> {
        if let Some(runner) = self.runner.get() {
            return Ok(runner.clone());
        }
        let runner = Runner::thread(&self.name)?;
        Ok(self.runner.get_or_init(|| runner).clone())
    }
}
