//! The machine under the test: its description, CPU and memory of processes, its disk and loopback.

pub mod cpu;
pub mod date;
pub mod disk;
pub mod machine;
pub mod memory;
pub mod network;
pub mod pinned;
pub mod switches;
pub mod tree;
