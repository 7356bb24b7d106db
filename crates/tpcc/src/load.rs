//! Loading: a warehouse after the other. One that is loaded is left out when it is loaded again, so that an interrupted load goes
//! on.

use serde::{Deserialize, Serialize};

use crate::population::Population;
use crate::random::Constants;
use crate::rows::Row;
use crate::scale::Scale;
use crate::target::Fault;

/// The load of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loaded {
    /// Rows of each warehouse.
    pub scale: Scale,
    /// Of all random values.
    pub seed: u64,
    /// The date of all loaded rows.
    pub date_ms: i64,
    /// Warehouses.
    pub warehouses: u32,
}

impl Loaded {
    /// What its rows are made from.
    pub fn population(&self) -> Population {
        Population {
            scale: self.scale,
            seed: self.seed,
            date_ms: self.date_ms,
        }
    }

    /// The constants that its last names were drawn with.
    pub fn constants(&self) -> Constants {
        self.population().constants()
    }
}

/// A database that can be loaded.
#[allow(async_fn_in_trait, reason = "all that uses it stays on one thread")]
pub trait Store {
    /// Makes tables that are not there.
    async fn prepare(&self) -> Result<(), Fault>;
    /// Its load; none where nothing is loaded.
    async fn loaded(&self) -> Result<Option<Loaded>, Fault>;
    /// Stores its load.
    async fn set_loaded(&self, loaded: &Loaded) -> Result<(), Fault>;
    /// Writes rows of a warehouse: those that are there already are replaced, or all rows of the warehouse were removed before;
    /// the number of rows of its own that these are.
    async fn write(&self, warehouse: u32, rows: Vec<Row>) -> Result<u64, Fault>;
    /// Removes what an interrupted load has left of a warehouse, where writing it again would not replace it.
    async fn clear(&self, warehouse: u32) -> Result<(), Fault>;
}

/// Loads warehouses until there are so many, and reports the rows of each piece.
///
/// # Errors
/// [`Fault::Failed`] when the database holds other rows than these would be.
pub async fn load(
    store: &impl Store,
    (warehouses, population): (u32, Population),
    mut report: impl FnMut(u32, u64),
) -> Result<Loaded, Fault> {
    store.prepare().await?;
    let mut loaded = match store.loaded().await? {
        Some(loaded) => loaded,
        None => Loaded {
            scale: population.scale,
            seed: population.seed,
            date_ms: population.date_ms,
            warehouses: 0,
        },
    };
    if loaded.scale != population.scale || loaded.seed != population.seed {
        return Err(Fault::Failed(format!(
            "the database was loaded with seed {} and {} items: drop it first, or load with the same",
            loaded.seed, loaded.scale.items
        )));
    }
    let population = loaded.population();
    while loaded.warehouses < warehouses {
        let warehouse = loaded.warehouses + 1;
        store.clear(warehouse).await?;
        for piece in population.pieces() {
            let rows = store
                .write(warehouse, population.rows(warehouse, piece))
                .await?;
            report(warehouse, rows);
        }
        loaded.warehouses = warehouse;
        store.set_loaded(&loaded).await?;
    }
    Ok(loaded)
}
