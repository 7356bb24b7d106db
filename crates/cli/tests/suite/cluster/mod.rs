//! A cluster that loses nodes, one that grows, one that gets keyspaces; the rest of their kind is in the trials.

mod growth;
mod keyspaces;
mod quorum;
