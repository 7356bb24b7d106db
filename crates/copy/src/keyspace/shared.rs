//! What the connections of a copy into a keyspace share.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::cluster::Cluster;
use super::memory::Memory;
use crate::CopyError;
use crate::gate::Gate;
use crate::limit::Limit;
use crate::plan::{Plan, Unit};
use crate::queue::Queue;
use crate::settings::Settings;
use crate::source::database::Source;
use crate::watch::Watch;
use crate::wire::pair::Tally;

/// What the connections share.
pub(crate) struct Shared<'a> {
    pub settings: &'a Settings,
    pub cluster: &'a Cluster,
    pub source: &'a Source,
    pub source_path: &'a Path,
    pub plan: &'a Plan,
    pub watch: &'a Watch,
    pub limit: Option<Limit>,
    pub gate: Gate,
    pub queue: Queue<u32>,
    pub memory: &'a Mutex<Memory>,
    pub total: Mutex<Tally>,
}

impl Shared<'_> {
    /// Fails when there is no reason to go on.
    pub fn check(&self) -> Result<(), CopyError> {
        self.queue.check(self.watch)
    }

    /// Notes that the cluster has unit `number`.
    pub fn done(
        &self,
        connection: usize,
        number: u32,
        unit: &Unit,
        tally: Tally,
    ) -> Result<(), CopyError> {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.add(number, tally)?;
        drop(memory);
        self.watch.finished(connection, unit.size_bytes());
        let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
        total.merge(&tally);
        Ok(())
    }
}
