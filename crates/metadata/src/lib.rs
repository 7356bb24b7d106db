//! dunlin-metadata
