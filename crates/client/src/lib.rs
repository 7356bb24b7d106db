//! dunlin-client
