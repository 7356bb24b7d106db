//! TLS as clients, operators and strangers meet it.

mod clients;
mod etcd;
mod files;
mod reload;
mod secrets;
