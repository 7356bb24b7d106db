//! A secret file: read at the start, and again when it has changed.
use crate::secrets::{FILE_BYTES_MAX, SecretError, Secrets};
use ring::digest;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Others than the file's owner and group may read it.
const OTHERS_READ: u32 = 0o004;

/// What a look at the file found.
#[derive(Debug)]
pub enum Read {
    /// As before.
    Same,
    /// Other secrets than before.
    Changed(Secrets),
    /// Something that is wrong with it, in one line; told once. The secrets from before hold.
    Wrong(String),
}

/// A file, and what was last seen in it.
#[derive(Debug)]
pub struct SecretFile {
    path: PathBuf,
    /// Of its bytes; the bytes themselves are not kept.
    digest: Vec<u8>,
    told: Option<String>,
}

impl SecretFile {
    /// Reads it for the first time. The line beside, if any, is a warning.
    ///
    /// # Errors
    /// One line that names the file and says what to do.
    pub fn open(path: &Path) -> Result<(SecretFile, Secrets, Option<String>), String> {
        let (secrets, digest, is_exposed) = read(path).map_err(|error| line(path, &error))?;
        let warning = is_exposed.then(|| {
            format!(
                "the secret file {} can be read by every user of this machine: chmod 600 it",
                path.display()
            )
        });
        let file = SecretFile {
            path: path.to_path_buf(),
            digest,
            told: None,
        };
        Ok((file, secrets, warning))
    }

    /// Looks again.
    pub fn look(&mut self) -> Read {
        match read(&self.path) {
            Ok((_, digest, _)) if digest == self.digest => {
                self.told = None;
                Read::Same
            }
            Ok((secrets, digest, _)) => {
                self.digest = digest;
                self.told = None;
                Read::Changed(secrets)
            }
            Err(error) => {
                let line = line(&self.path, &error);
                if self.told.as_ref() == Some(&line) {
                    return Read::Same;
                }
                self.told = Some(line.clone());
                Read::Wrong(line)
            }
        }
    }
}

fn line(path: &Path, error: &SecretError) -> String {
    format!("the secret file {} {error}", path.display())
}

/// The secrets, the digest of the bytes, and whether everybody may read them.
fn read(path: &Path) -> Result<(Secrets, Vec<u8>, bool), SecretError> {
    let unreadable = |error: io::Error| SecretError::Unreadable(error.to_string());
    // Before it is opened: a pipe that nobody writes into would hold up whoever opens it.
    let found = fs::metadata(path).map_err(unreadable)?;
    if !found.is_file() {
        return Err(SecretError::NoFile);
    }
    let file = File::open(path).map_err(unreadable)?;
    let mode = found.permissions().mode();
    let mut text = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1)
        .read_to_end(&mut text)
        .map_err(unreadable)?;
    let secrets = Secrets::parse(&text)?;
    let digest = digest::digest(&digest::SHA256, &text).as_ref().to_vec();
    Ok((secrets, digest, mode & OTHERS_READ != 0))
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
