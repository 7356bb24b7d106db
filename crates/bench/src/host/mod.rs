//! The machine under the test: its description, CPU and memory of processes, its disk.

pub mod cpu;
pub mod date;
pub mod disk;
pub mod machine;
pub mod memory;
