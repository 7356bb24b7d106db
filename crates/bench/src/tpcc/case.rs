//! A case: a server, and where its data are.

use clap::ValueEnum;
use dunlin_tpcc::postgres::Isolation;
use serde::Serialize;

/// Who carries the transactions out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Engine {
    /// Dunlin, by direct clients.
    Dunlin,
    /// PostgreSQL, read committed, with locks of rows.
    ReadCommitted,
    /// PostgreSQL, serializable.
    Serializable,
}

/// Where the data are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Medium {
    /// In memory (`/dev/shm`), where a sync costs nothing.
    Memory,
    /// On the disk.
    Disk,
}

/// One case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct TpccCase {
    /// Who.
    pub engine: Engine,
    /// Where.
    pub medium: Medium,
    /// Replicas of each row.
    pub replicas: u8,
}

/// Which transactions, by how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Workload {
    /// `paper` or `full`.
    pub mix: &'static str,
    /// Warehouses.
    pub warehouses: u32,
    /// Terminals.
    pub terminals: u32,
}

impl Engine {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Engine::Dunlin => "Dunlin",
            Engine::ReadCommitted => "PostgreSQL, read committed",
            Engine::Serializable => "PostgreSQL, serializable",
        }
    }

    /// How PostgreSQL keeps transactions apart, where it is it.
    pub fn isolation(self) -> Option<Isolation> {
        match self {
            Engine::Dunlin => None,
            Engine::ReadCommitted => Some(Isolation::ReadCommitted),
            Engine::Serializable => Some(Isolation::Serializable),
        }
    }
}

impl Workload {
    /// For people.
    pub fn name(&self) -> String {
        let Workload {
            mix,
            warehouses,
            terminals,
        } = self;
        format!("Mix `{mix}`, warehouses: {warehouses}, terminals: {terminals}")
    }
}

impl Medium {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Medium::Memory => "memory",
            Medium::Disk => "disk",
        }
    }
}

impl TpccCase {
    /// For people.
    pub fn name(&self) -> String {
        let replicas = if self.replicas == 1 {
            "1 replica"
        } else {
            "3 replicas"
        };
        format!("{}, {replicas}, {}", self.engine.name(), self.medium.name())
    }
}
