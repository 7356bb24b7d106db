//! The metadata of one process: in memory only, or in one file besides.
use crate::accept::Verdict;
use crate::change::Step;
use crate::error::MetadataError;
use crate::file;
use crate::objects::Objects;
use crate::topology::Topology;
use crate::view::View;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tokio::sync::Mutex;

/// All objects, the readers that watch them, and the file that outlives them.
pub(crate) struct Local {
    objects: Mutex<Objects>,
    pub view: View,
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
        Self {
            objects: Mutex::default(),
            view: View::new("in memory", None, Topology::default()),
            home: None,
        }
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
        let damaged = |detail: String| MetadataError::Damaged {
            place: path.display().to_string(),
            detail,
        };
        let objects = match file::read(path).map_err(storage)? {
            None => Objects::default(),
            Some(content) => {
                Objects::of_document(&content).map_err(|error| damaged(error.to_string()))?
            }
        };
        let view = View::new(path.display().to_string(), None, Topology::default());
        match view.judge(&objects) {
            Verdict::Accept(topology, problems) => view.publish(topology, problems),
            Verdict::Refuse(refusal) => return Err(damaged(refusal.to_string())),
        }
        Ok(Self {
            objects: Mutex::new(objects),
            view,
            home: Some(Home {
                path: path.to_owned(),
                _lock: lock,
            }),
        })
    }

    /// Makes a change: first in the file, then in memory, then for all to see. What fails anywhere
    /// has not happened.
    pub async fn change<T>(
        &self,
        decide: impl Fn(&Topology, &Objects) -> Result<Step<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        let mut objects = self.objects.lock().await;
        let now = self.view.basis(&self.view.known(), &objects)?;
        let step = decide(&now, &objects)?;
        if step.puts.is_empty() {
            return Ok(step.value);
        }
        let mut changed = objects.clone();
        changed.apply(&step.puts);
        let verdict = self.view.judge(&changed);
        if let Some(home) = &self.home {
            home.save(&changed).await?;
        }
        *objects = changed;
        match verdict {
            Verdict::Accept(topology, problems) => self.view.publish(topology, problems),
            Verdict::Refuse(refusal) => return Err(self.view.refusal(refusal)),
        }
        Ok(step.value)
    }
}

impl Home {
    /// Syncs on a thread of its own: the caller's thread has a shard to run.
    async fn save(&self, objects: &Objects) -> Result<(), MetadataError> {
        let storage = |source| MetadataError::Storage {
            path: self.path.clone(),
            source,
        };
        let content = objects.to_document().map_err(|e| storage(e.into()))?;
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || file::replace(&path, &content))
            .await
            .map_err(|stopped| storage(io::Error::other(stopped)))?
            .map_err(storage)
    }
}
