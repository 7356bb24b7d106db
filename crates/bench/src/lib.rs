//! dunlin-bench
