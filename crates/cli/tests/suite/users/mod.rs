//! Users and rights, with real nodes, a real etcd, curl and the command line.

mod command;
mod rights;
mod secrets;
