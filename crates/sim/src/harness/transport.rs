//! Connections over the simulated network.

use std::io;

use dunlin_rpc::{Listener, LocalFuture, Plain, Stream, Transport};
use turmoil::net::{TcpListener, TcpStream};

/// The network of the host it is used on.
pub struct SimTransport;

impl Transport for SimTransport {
    fn connect<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            let stream = TcpStream::connect(addr).await?;
            Ok(Box::new(Plain(stream)) as Box<dyn Stream>)
        })
    }

    fn listen<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            let listener = TcpListener::bind(addr).await?;
            Ok(Box::new(SimListener(listener)) as Box<dyn Listener>)
        })
    }
}

struct SimListener(TcpListener);

impl Listener for SimListener {
    fn accept(&mut self) -> LocalFuture<'_, io::Result<(Box<dyn Stream>, String)>> {
        Box::pin(async move {
            let (stream, peer) = self.0.accept().await?;
            Ok((Box::new(Plain(stream)) as Box<dyn Stream>, peer.to_string()))
        })
    }

    fn local_addr(&self) -> io::Result<String> {
        Ok(self.0.local_addr()?.to_string())
    }
}
