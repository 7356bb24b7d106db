//! dunlin-sim
