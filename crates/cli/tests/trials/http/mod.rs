//! HTTP: what takes long ranges, many connections or many writes.

mod large_range;
mod limits;
mod retention;
