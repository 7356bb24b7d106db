//! The log of results of deliveries (clause 2.7.2): a line each, behind a line that names the case.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use dunlin_tpcc::deferred::Delivery;

/// A log that is written round by round.
pub struct DeliveryLog(BufWriter<File>);

impl DeliveryLog {
    /// An empty one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> std::io::Result<DeliveryLog> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        Ok(DeliveryLog(BufWriter::new(File::create(path)?)))
    }

    /// Adds the deliveries of a round.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn add(&mut self, case: &str, deliveries: &[Delivery]) -> std::io::Result<()> {
        let Self(file) = self;
        writeln!(file, "# {case}")?;
        for delivery in deliveries {
            writeln!(file, "{delivery}")?;
        }
        file.flush()
    }
}
