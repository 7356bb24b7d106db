//! One cluster that loses nodes and one that grows; the rest of their kind is in the trials.

mod growth;
mod keyspaces;
mod quorum;
