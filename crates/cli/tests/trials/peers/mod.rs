//! Nodes among one another: two with one name, one that comes back, one that panics; strangers.

mod health;
mod panics;
mod patient;
mod rolling;
mod secret;
mod twins;
