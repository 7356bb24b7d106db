//! Nodes as processes on a real etcd: `dunlin serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Command;

use super::server::Server;
use super::{Cluster, ClusterError, Sync, directory, etcd, ports, ready};
use crate::interrupt::Interrupt;

/// Nodes that hold data unless somebody says otherwise: as many as there are copies of a key.
pub const MEMBERS: u16 = 3;

/// What all nodes of a cluster are started with.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The program.
    pub dunlin: &'a Path,
    /// When writes are acknowledged.
    pub sync: Sync,
    /// Further arguments of `dunlin serve`.
    pub more: &'a [String],
    /// Of each node, which shares the machine with the others.
    pub shards: u16,
    /// Nodes that hold data.
    pub members: u16,
    /// Nodes that join behind those, and so hold nothing.
    pub spare: u16,
}

/// Starts one etcd for the metadata and three nodes, and waits until they are ready.
///
/// # Errors
/// When they do not start.
pub fn start(
    dunlin: &Path,
    parent: &Path,
    sync: Sync,
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let setup = Setup {
        dunlin,
        sync,
        more: &[],
        shards: 1,
        members: MEMBERS,
        spare: 0,
    };
    start_with(&setup, parent, interrupt)
}

/// The same, with other settings and numbers of nodes.
///
/// # Errors
/// When they do not start.
pub fn start_with(
    setup: &Setup,
    parent: &Path,
    interrupt: &Interrupt,
) -> Result<Cluster, ClusterError> {
    let directory = directory(parent, "processes")?;
    let nodes = setup.members + setup.spare;
    let base = ports::consecutive(2 + 2 * nodes)?;
    let (first_http, first_listen) = (base + 2, base + 2 + nodes);
    let (program, name) = (etcd::program(), "metadata");
    let metadata = etcd::member(program, directory.path(), name, base, base + 1, None)?;
    let mut cluster = Cluster {
        addresses: Vec::new(),
        servers: Vec::new(),
        helpers: vec![metadata],
        directory,
    };
    let metadata_address = local(base);
    ready::wait("etcd", &mut cluster, interrupt, |_| {
        ready::expect(metadata_address, "GET", "/health", 200)
    })?;
    for node in 0..nodes {
        if node >= setup.members {
            // The first to come hold data.
            ready::all_nodes(&mut cluster, interrupt)?;
        }
        let name = format!("n{}", node + 1);
        let http = local(first_http + node);
        let mut command = Command::new(setup.dunlin);
        command
            .args(["serve", "--name", &name, "--data"])
            .arg(cluster.directory().join(&name))
            .args(["--http", &http.to_string()])
            .args(["--listen", &local(first_listen + node).to_string()])
            .args(["--metadata", &format!("etcd://{metadata_address}")])
            .args(["--sync", setup.sync.name()])
            .args(["--shards", &setup.shards.to_string()])
            .args(setup.more);
        let log = cluster.directory().join(format!("{name}.log"));
        cluster.servers.push(Server::spawn(&name, command, log)?);
        cluster.addresses.push(http);
    }
    ready::all_nodes(&mut cluster, interrupt)?;
    Ok(cluster)
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}
