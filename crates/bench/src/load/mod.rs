//! Load: requests at their intended times, measured from those times.

pub mod clock;
pub mod connection;
pub mod etcd;
pub mod generator;
pub mod grpc;
pub mod http;
pub mod key;
pub mod nats;
pub mod outcome;
pub mod protobuf;
pub mod protocol;
pub mod redis;
pub mod redis_stream;
pub mod response;
pub mod txn;
pub mod value;
