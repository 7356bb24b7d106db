//! The proof that `dunlin demo` makes, in parts: [`catalogue`] is the input, [`process`] a child
//! that is never left behind, [`ports`] free ones, [`cluster`] etcd and three nodes,
//! [`scenario`] the load with the kill and the return, [`catch_up`] the wait for the returned
//! node, [`verify`] the reading back, [`measured`] what is told at the end.

pub mod catalogue;
pub mod catch_up;
pub mod cluster;
pub mod measured;
pub mod ports;
pub mod process;
pub mod scenario;
pub mod verify;
