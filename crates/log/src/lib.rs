//! dunlin-log
