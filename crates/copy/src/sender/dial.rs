//! Connections to a target: over the network, or to a receiver inside this process.

use std::path::Path;
use std::sync::Arc;

use dunlin_secret::Guard;

use crate::CopyError;
use crate::gate::Gate;
use crate::receiver::serve::Receiver;
use crate::wire::link::Link;

/// Makes connections.
pub(crate) enum Dialer {
    Remote {
        address: String,
        gate: Gate,
        guard: Arc<Guard>,
    },
    Local(Arc<Receiver>),
}

impl Dialer {
    /// To `HOST:PORT` of a receiver.
    pub fn remote(address: &str, guard: &Arc<Guard>) -> Dialer {
        Dialer::Remote {
            address: address.to_owned(),
            gate: Gate::default(),
            guard: guard.clone(),
        }
    }

    /// To a receiver of this process, into a directory.
    pub fn local(path: &Path) -> Dialer {
        Dialer::Local(Arc::new(Receiver::new(path.to_path_buf())))
    }

    /// One connection, tried once.
    pub fn dial(&self) -> Result<Link, CopyError> {
        match self {
            Dialer::Remote {
                address,
                gate,
                guard,
            } => Link::connect(address, gate, guard),
            Dialer::Local(receiver) => {
                let (near, far) = Link::pair("the target");
                let receiver = Arc::clone(receiver);
                let answerer = std::thread::Builder::new()
                    .name("copy target".to_owned())
                    // Its error is the refusal that it sends.
                    .spawn(move || drop(receiver.serve_link(far)))
                    .map_err(|error| CopyError::Lost {
                        peer: "the target".to_owned(),
                        detail: error.to_string(),
                    })?;
                Ok(near.answered_by(answerer))
            }
        }
    }
}
