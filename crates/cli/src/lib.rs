//! dunlin-cli
