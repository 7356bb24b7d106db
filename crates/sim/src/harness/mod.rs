//! The world the real node code runs in: simulated network, disks, clocks and hosts.

pub mod ask;
pub mod chance;
pub mod clock;
pub mod cluster;
pub mod directory;
pub mod front;
pub mod hang;
pub mod host;
pub mod machine;
pub mod pause;
pub mod transport;
