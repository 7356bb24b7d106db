//! Whether a process runs already as the node that a directory without data is to become.

use dunlin_metadata::Metadata;
use dunlin_proto::Introduction;
use dunlin_rpc::{TcpTransport, knock};

use super::StartError;
use super::identity::Identity;
use crate::config::NodeConfig;
use crate::limits::CALL_TIMEOUT;

/// Fails when whoever answers at the address under which the cluster knows this node is this node: a
/// start without data would end it, and have its data copied over the network for nothing. Where nobody
/// answers in time, the node has lost its data, or hangs: it may start anew.
pub(super) async fn refuse(
    config: &NodeConfig,
    metadata: &Metadata,
    identity: &Identity,
) -> Result<(), StartError> {
    if identity.has_data() {
        return Ok(());
    }
    let topology = metadata.topology().borrow().clone();
    let Some(known) = topology.node_named(&config.name) else {
        return Ok(());
    };
    let cluster = topology.cluster.as_ref().map(|cluster| cluster.id.clone());
    let hello = Introduction {
        shard: 0,
        asker: known.id,
        // Below every start: this one has not begun.
        incarnation: 0,
        wanted: 0,
        cluster: cluster.unwrap_or_default(),
    };
    let hello = hello.encode(&config.name);
    let guard = &config.guard;
    match knock(&TcpTransport, &known.listen, &hello, guard, CALL_TIMEOUT).await {
        Ok(_) => Err(StartError::Running {
            node: config.name.clone(),
            listen: known.listen.clone(),
            data: config.data.clone(),
        }),
        Err(nobody) => {
            tracing::debug!(%nobody, listen = known.listen, "no process runs as this node yet");
            Ok(())
        }
    }
}
