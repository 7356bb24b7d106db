//! Free ports on loopback.

use std::net::{Ipv4Addr, TcpListener};

use crate::failure::Failure;

/// `N` ports that were free a moment ago, all different.
pub fn free<const N: usize>() -> Result<[u16; N], Failure> {
    let failed =
        |error: std::io::Error| Failure::Failed(format!("cannot find a free port: {error}"));
    let mut ports = [0; N];
    // All are held until the last is found, or one might be found twice.
    let mut held = Vec::with_capacity(N);
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        *port = listener.local_addr().map_err(failed)?.port();
        held.push(listener);
    }
    Ok(ports)
}
