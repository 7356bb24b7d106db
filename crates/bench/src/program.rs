//! Finding programs.

use std::path::{Path, PathBuf};

/// Where `name` is on the `PATH`, with the directories of daemons that a user's may lack.
pub fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/usr/local/bin")])
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// The `dunlin` built beside the running program.
pub fn dunlin() -> Option<PathBuf> {
    let me = std::env::current_exe().ok()?;
    Some(beside(&me, "dunlin"))
}

fn beside(program: &Path, name: &str) -> PathBuf {
    program.with_file_name(name)
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
