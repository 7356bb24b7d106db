//! dunlin-rpc
