//! The world the real node code runs in: simulated network, disks, clocks and hosts.

pub mod clock;
pub mod cluster;
pub mod host;
pub mod transport;
