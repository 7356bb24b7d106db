//! dunlin-store
