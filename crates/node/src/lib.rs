//! dunlin-node
