//! One file a verb.

pub mod add;
pub mod copy;
pub mod cursor;
pub mod delete;
pub mod demo;
pub mod get;
pub mod import;
pub mod keyspace;
pub mod link;
pub mod log;
pub mod metadata;
pub mod node;
pub mod put;
pub mod range;
pub mod receive;
pub mod scan;
pub mod serve;
pub mod status;
pub mod stream;
pub mod txn;
pub mod up;
pub mod user;
pub mod view;
