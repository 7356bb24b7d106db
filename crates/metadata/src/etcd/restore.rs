//! Putting a lost store back in etcd.
use super::access::EtcdPlace;
use super::address::Address;
use super::contents::{commit, read};
use super::session::{ANSWER_TIMEOUT, Failure, Session, check, limited};
use crate::cluster::Cluster;
use crate::objects::{CLUSTER, Put};
use crate::restore::{Report, RestoreError, plan};
use crate::topology::Topology;
use etcd_client::Client;

/// etcd takes 128 operations in a transaction, its guards among them.
const PUTS_MAX: usize = 100;

/// Puts the store at `place` back from what nodes have told, and says what they will see.
/// Refused without a majority of the members unless it is forced; a cluster of a version without
/// ids gets `fresh`.
pub async fn restore(
    place: impl Into<EtcdPlace>,
    reports: &[Report],
    force: bool,
    fresh: &Cluster,
) -> Result<Topology, RestoreError> {
    let address = Address::parse(place.into())?;
    check(&address)?;
    let session = Session::new(address, None);
    let at = |failure: Failure| RestoreError::Store(failure.at(&session.address));
    let reading = |mut client: Client| async move {
        let store = read(&mut client).await?;
        Ok((client, store))
    };
    // The member that has answered gets all that follows.
    let (_, (mut client, store)) = session.ask(reading).await.map_err(at)?;
    let (topology, puts) = plan(reports, &store, force, fresh)?;
    let guards = [CLUSTER.to_owned()];
    if puts.len() <= PUTS_MAX {
        let written = limited(ANSWER_TIMEOUT, commit(&mut client, &store, &guards, &puts)).await;
        return match written.map_err(at)? {
            Some(_) => Ok(topology),
            None => Err(RestoreError::Raced),
        };
    }
    in_parts(&mut client, &puts, at).await?;
    Ok(topology)
}

/// The cluster's id goes first and comes last: no node believes a store that lacks it, so none acts
/// by half of it.
async fn in_parts(
    client: &mut Client,
    puts: &[Put],
    at: impl Fn(Failure) -> RestoreError,
) -> Result<(), RestoreError> {
    let guards = [CLUSTER.to_owned()];
    let (cluster, rest): (Vec<Put>, Vec<Put>) =
        puts.iter().cloned().partition(|(key, _)| key == CLUSTER);
    let gone = [(CLUSTER.to_owned(), None)];
    let parts = [&gone[..]].into_iter().chain(rest.chunks(PUTS_MAX));
    for part in parts.chain([&cluster[..]]) {
        let now = limited(ANSWER_TIMEOUT, read(client)).await.map_err(&at)?;
        let written = limited(ANSWER_TIMEOUT, commit(client, &now, &guards, part)).await;
        if written.map_err(&at)?.is_none() {
            return Err(RestoreError::Raced);
        }
    }
    Ok(())
}
