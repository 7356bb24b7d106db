//! The real transport: TCP without delay, and Unix sockets as `unix:/path`.
#![allow(
    clippy::disallowed_methods,
    reason = "this is the one transport over the real network"
)]
use crate::transport::{Detached, Listener, LocalFuture, Stream, Transport};
use std::io;
use std::path::{Path, PathBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

/// TCP with `TCP_NODELAY` for `host:port`, a Unix socket for `unix:/path`.
#[derive(Debug, Clone, Copy, Default)]
pub struct TcpTransport;

impl Transport for TcpTransport {
    fn connect<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Stream>>> {
        Box::pin(async move {
            if let Some(path) = addr.strip_prefix("unix:") {
                return Ok(Box::new(UnixStream::connect(path).await?) as Box<dyn Stream>);
            }
            let stream = TcpStream::connect(addr).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn Stream>)
        })
    }

    fn listen<'a>(&'a self, addr: &'a str) -> LocalFuture<'a, io::Result<Box<dyn Listener>>> {
        Box::pin(async move {
            if let Some(path) = addr.strip_prefix("unix:") {
                return Ok(Box::new(UnixSocket::bind(Path::new(path)).await?) as Box<dyn Listener>);
            }
            Ok(Box::new(TcpListener::bind(addr).await?) as Box<dyn Listener>)
        })
    }
}

impl Listener for TcpListener {
    fn accept(&mut self) -> LocalFuture<'_, io::Result<(Box<dyn Stream>, String)>> {
        Box::pin(async move {
            let (stream, peer) = TcpListener::accept(self).await?;
            stream.set_nodelay(true)?;
            Ok((Box::new(stream) as Box<dyn Stream>, peer.to_string()))
        })
    }

    fn local_addr(&self) -> io::Result<String> {
        Ok(TcpListener::local_addr(self)?.to_string())
    }
}

/// A Unix socket that is listened on; its file goes with it.
struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl UnixSocket {
    /// Binds, taking the place of a socket file that a dead process left behind.
    async fn bind(path: &Path) -> io::Result<Self> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                match UnixStream::connect(path).await {
                    Err(dead) if dead.kind() == io::ErrorKind::ConnectionRefused => {
                        std::fs::remove_file(path)?;
                        UnixListener::bind(path)?
                    }
                    _ => return Err(error),
                }
            }
            bound => bound?,
        };
        Ok(Self {
            listener,
            path: path.to_path_buf(),
        })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(path = %self.path.display(), %error, "socket file was gone already");
        }
    }
}

impl Listener for UnixSocket {
    fn accept(&mut self) -> LocalFuture<'_, io::Result<(Box<dyn Stream>, String)>> {
        Box::pin(async move {
            let (stream, _) = self.listener.accept().await?;
            let peer = format!("unix:{}", self.path.display());
            Ok((Box::new(stream) as Box<dyn Stream>, peer))
        })
    }

    fn local_addr(&self) -> io::Result<String> {
        Ok(format!("unix:{}", self.path.display()))
    }
}

impl Stream for TcpStream {
    fn detach(self: Box<Self>) -> io::Result<Detached> {
        let stream = (*self).into_std()?;
        Ok(Detached::new(move || {
            Ok(Box::new(TcpStream::from_std(stream)?))
        }))
    }
}

impl Stream for UnixStream {
    fn detach(self: Box<Self>) -> io::Result<Detached> {
        let stream = (*self).into_std()?;
        Ok(Detached::new(move || {
            Ok(Box::new(UnixStream::from_std(stream)?))
        }))
    }
}
