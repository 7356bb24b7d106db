//! Settings in use, and their change to new ones: only when what the files say is whole.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::error::TlsError;
use crate::print::{Print, print};
use crate::validity::Validity;

/// What files gave.
pub(crate) struct Loaded<T> {
    pub config: Arc<T>,
    /// Of the identity, where there is one.
    pub validity: Option<Validity>,
    /// The key, when anybody on the machine may read it.
    pub open_key: Option<PathBuf>,
    pub certificate: Option<PathBuf>,
}

impl<T> Clone for Loaded<T> {
    fn clone(&self) -> Self {
        Loaded {
            config: self.config.clone(),
            validity: self.validity,
            open_key: self.open_key.clone(),
            certificate: self.certificate.clone(),
        }
    }
}

type Load<T> = Box<dyn Fn() -> Result<Loaded<T>, TlsError> + Send + Sync>;

/// A configuration that follows its files. Connections take it as it is when they begin.
pub struct Kept<T> {
    paths: Vec<PathBuf>,
    load: Load<T>,
    current: RwLock<Loaded<T>>,
    looks: Mutex<Looks>,
}

/// What the looks before this one saw.
struct Looks {
    prints: Vec<Option<Print>>,
    /// Set while the files are not whole. Of a pair, one is written after the other, so only the
    /// second look at the same trouble is told, and that once.
    trouble: Option<Trouble>,
}

struct Trouble {
    line: String,
    is_told: bool,
}

/// What a look at the files found.
#[derive(Debug, PartialEq, Eq)]
pub enum Look {
    /// Nothing to tell: as before, or not whole yet.
    Same,
    /// New settings are in use.
    Changed,
    /// The files are not whole, and the settings of before stay in use.
    Failed(String),
}

impl<T> Kept<T> {
    pub(crate) fn open(
        paths: Vec<PathBuf>,
        load: impl Fn() -> Result<Loaded<T>, TlsError> + Send + Sync + 'static,
    ) -> Result<Arc<Kept<T>>, TlsError> {
        // Before they are read: what changes in between is seen by the next look.
        let prints = prints(&paths);
        let loaded = load()?;
        Ok(Arc::new(Kept {
            paths,
            load: Box::new(load),
            current: RwLock::new(loaded),
            looks: Mutex::new(Looks {
                prints,
                trouble: None,
            }),
        }))
    }

    /// The settings for a new connection.
    pub fn get(&self) -> Arc<T> {
        self.loaded().config
    }

    /// Until when the identity is good.
    pub fn validity(&self) -> Option<Validity> {
        self.loaded().validity
    }

    /// What an operator should know at this time (seconds since 1970), one line each.
    pub fn warnings(&self, now_s: u64) -> Vec<String> {
        let loaded = self.loaded();
        let mut lines = Vec::new();
        if let (Some(path), Some(validity)) = (&loaded.certificate, loaded.validity) {
            lines.extend(validity.warning(path, now_s));
        }
        if let Some(path) = &loaded.open_key {
            lines.push(format!(
                "the private key {0} can be read by everybody on this machine: chmod 600 {0}",
                path.display()
            ));
        }
        lines
    }

    /// Looks at the files, and takes what they say if it is new and whole.
    pub fn look(&self) -> Look {
        let mut looks = self.looks.lock().unwrap_or_else(PoisonError::into_inner);
        let now = prints(&self.paths);
        // What was not whole may be by now, whatever its times say.
        if now == looks.prints && looks.trouble.is_none() {
            return Look::Same;
        }
        looks.prints = now;
        match (self.load)() {
            Ok(loaded) => {
                looks.trouble = None;
                *self.current.write().unwrap_or_else(PoisonError::into_inner) = loaded;
                Look::Changed
            }
            Err(error) => looks.failed(error.to_string()),
        }
    }

    fn loaded(&self) -> Loaded<T> {
        self.current
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Looks {
    fn failed(&mut self, line: String) -> Look {
        match &mut self.trouble {
            Some(trouble) if trouble.line == line => {
                if trouble.is_told {
                    return Look::Same;
                }
                trouble.is_told = true;
                Look::Failed(line)
            }
            _ => {
                self.trouble = Some(Trouble {
                    line,
                    is_told: false,
                });
                Look::Same
            }
        }
    }
}

fn prints(paths: &[PathBuf]) -> Vec<Option<Print>> {
    paths.iter().map(|path| print(path)).collect()
}

impl<T> std::fmt::Debug for Kept<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Of what is in the files nothing: there are keys among it.
        f.debug_struct("Kept").field("paths", &self.paths).finish()
    }
}

#[cfg(test)]
#[path = "kept_tests.rs"]
mod tests;
