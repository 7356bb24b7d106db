//! Finding programs.

use std::path::{Path, PathBuf};

use crate::error::BenchError;

/// Where `name` is on the `PATH`, with the directories of daemons that a user's may lack.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/bin")])
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// A rival that `scripts/rivals.sh` has built below the directory where the running program was.
pub fn rival(name: &str) -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    // It is in `target/release`, its tests are in `target/release/deps`.
    let mut directories = me.ancestors().skip(2).take(2);
    directories.find_map(|directory| {
        let candidate = directory.join("rivals").join(name);
        candidate.is_file().then_some(candidate)
    })
}

/// The `dunlin` built beside the running program.
pub fn dunlin() -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    Some(beside(&me, "dunlin"))
}

/// The `dunlin` that was named, or the one built beside the running program.
///
/// # Errors
/// [`BenchError::NoDunlin`] when there is none.
pub fn dunlin_or(named: Option<&Path>) -> Result<PathBuf, BenchError> {
    let found = named.map(Path::to_owned).or_else(dunlin);
    let found = found.unwrap_or_else(|| "dunlin".into());
    if found.is_file() {
        Ok(found)
    } else {
        Err(BenchError::NoDunlin(found))
    }
}

fn beside(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(name)
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
