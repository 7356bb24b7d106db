//! The metadata of one process: in memory only, or in one file besides.
use crate::document::Document;
use crate::error::MetadataError;
use crate::file;
use crate::topology::Topology;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::{Mutex, watch};

/// A document, the readers that watch it, and the file that outlives it.
pub(crate) struct Local {
    document: Mutex<Document>,
    topology: watch::Sender<Arc<Topology>>,
    home: Option<Home>,
}

/// The file of an embedded store. Only one process has it open.
struct Home {
    path: PathBuf,
    _lock: File,
}

impl Local {
    /// A store that touches nothing outside of memory.
    pub fn in_memory() -> Self {
        Self::new(Document::default(), None)
    }

    /// A store in the file at `path`, which is made when it is first written.
    pub fn embedded(path: &Path) -> Result<Self, MetadataError> {
        let storage = |source| MetadataError::Storage {
            path: path.to_owned(),
            source,
        };
        let lock = file::lock(path).map_err(storage)?;
        let lock = lock.ok_or_else(|| MetadataError::Locked {
            path: path.to_owned(),
        })?;
        let document = match file::read(path).map_err(storage)? {
            None => Document::default(),
            Some(content) => {
                serde_json::from_slice(&content).map_err(|error| MetadataError::Damaged {
                    place: path.display().to_string(),
                    detail: error.to_string(),
                })?
            }
        };
        Ok(Self::new(
            document,
            Some(Home {
                path: path.to_owned(),
                _lock: lock,
            }),
        ))
    }

    fn new(document: Document, home: Option<Home>) -> Self {
        let (topology, _) = watch::channel(Arc::new(document.topology()));
        Self {
            document: Mutex::new(document),
            topology,
            home,
        }
    }

    pub fn topology(&self) -> watch::Receiver<Arc<Topology>> {
        self.topology.subscribe()
    }

    /// Makes a change: first in the file, then in memory, then for all to see. `decide` works on
    /// a copy, so a change that fails anywhere has not happened.
    pub async fn change<T>(
        &self,
        decide: impl FnOnce(&mut Document) -> Result<T, MetadataError>,
    ) -> Result<T, MetadataError> {
        let mut current = self.document.lock().await;
        let mut changed = current.clone();
        let result = decide(&mut changed)?;
        if changed == *current {
            return Ok(result);
        }
        if let Some(home) = &self.home {
            home.save(&changed).await?;
        }
        self.topology.send_replace(Arc::new(changed.topology()));
        *current = changed;
        Ok(result)
    }
}

impl Home {
    /// Syncs on a thread of its own: the caller's thread has a shard to run.
    async fn save(&self, document: &Document) -> Result<(), MetadataError> {
        let storage = |source| MetadataError::Storage {
            path: self.path.clone(),
            source,
        };
        let content = serde_json::to_vec_pretty(document).map_err(|e| storage(e.into()))?;
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || file::replace(&path, &content))
            .await
            .map_err(|stopped| storage(io::Error::other(stopped)))?
            .map_err(storage)
    }
}
