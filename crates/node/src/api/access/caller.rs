//! A client's connection: where it comes from, and who it last was.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::rc::Rc;

use subtle::ConstantTimeEq;
use tokio::sync::Notify;

use crate::api::upgrade::Upgrading;
use crate::shard::Known;

/// Whom a connection's requests come from.
pub(in crate::api) struct Caller {
    /// Not known of a connection that has ended already.
    address: Option<SocketAddr>,
    last: RefCell<Option<Last>>,
    abort: Rc<Notify>,
    upgrading: Rc<Upgrading>,
}

/// Who it was with a header that was found to be right.
struct Last {
    header: Box<[u8]>,
    /// The users then. Any change of them is another.
    known: Rc<Known>,
    name: Rc<str>,
}

impl Caller {
    pub fn new(address: Option<SocketAddr>) -> Rc<Caller> {
        Rc::new(Caller {
            address,
            last: RefCell::new(None),
            abort: Rc::default(),
            upgrading: Rc::default(),
        })
    }

    /// Ends its connection at once.
    pub fn abort(&self) -> &Rc<Notify> {
        &self.abort
    }

    /// What serves its connection after an answer of 101.
    pub fn upgrading(&self) -> &Rc<Upgrading> {
        &self.upgrading
    }

    /// Where from, for counting.
    pub fn address(&self) -> IpAddr {
        let none = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        self.address.map_or(none, |address| address.ip())
    }

    /// Where from, for people.
    pub fn place(&self) -> String {
        let place = self.address.map(|address| address.to_string());
        place.unwrap_or_else(|| "unknown".to_owned())
    }

    /// Who it is, if it said the same before and no user has changed since.
    pub fn last(&self, header: &[u8], known: &Rc<Known>) -> Option<Rc<str>> {
        let last = self.last.borrow();
        let last = last.as_ref()?;
        // Several may come through one connection, behind a proxy.
        let is_same = Rc::ptr_eq(&last.known, known) && bool::from(last.header.ct_eq(header));
        is_same.then(|| last.name.clone())
    }

    /// Takes note of who it is.
    pub fn remember(&self, header: &[u8], known: &Rc<Known>, name: &Rc<str>) {
        self.last.replace(Some(Last {
            header: header.into(),
            known: known.clone(),
            name: name.clone(),
        }));
    }
}
