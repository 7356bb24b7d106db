//! Views of a keyspace, as its record names them.
use crate::error::MetadataError;
use crate::keyspace::Keyspace;
use crate::node::check_name;
use serde::{Deserialize, Serialize};

/// The most views of a keyspace.
pub const VIEWS_MAX: usize = 32;
/// The longest source of a map or reduce function, in bytes.
pub const VIEW_SOURCE_BYTES_MAX: usize = 16 << 10;

/// A view: an index that a function makes of a keyspace's records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewRecord {
    /// Among all views that the keyspace has had; an index that is built anew has a new one.
    pub id: u32,
    /// The name that the user chose.
    pub name: String,
    /// Source of the map function.
    pub map: String,
    /// `_count`, `_sum` or `_stats`, where its rows can be reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// Its index takes the place of the one before even if the map function fails for every document.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// The index that is asked until this one is whole, where it takes the place of another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<IndexBefore>,
}

/// The index of a view that another takes the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexBefore {
    /// Its id.
    pub id: u32,
    /// Source of its map function.
    pub map: String,
    /// How its rows are reduced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reduce: Option<String>,
}

impl ViewRecord {
    /// The same as it is asked now.
    pub fn served(&self) -> ViewRecord {
        match &self.before {
            None => self.clone(),
            Some(before) => ViewRecord {
                id: before.id,
                map: before.map.clone(),
                reduce: before.reduce.clone(),
                before: None,
                ..self.clone()
            },
        }
    }
}

/// What is done with a keyspace's views.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewChange {
    /// Make one; its id is given to it.
    Create(ViewRecord),
    /// Give the one of this name these functions, or build its index anew; the index there is stays until then.
    Replace(ViewRecord),
    /// The index with this id of the one of this name is whole, and is asked from now on.
    Settle(String, u32),
    /// Drop the one of this name.
    Drop(String),
}

impl Keyspace {
    /// What becomes of it when its views are changed.
    pub(crate) fn with_views(&self, change: &ViewChange) -> Result<Keyspace, MetadataError> {
        let mut changed = self.clone();
        let id = self.views_made.checked_add(1);
        let id = id.ok_or(MetadataError::Exhausted { what: "view id" })?;
        let missing = |name: &str| MetadataError::NoView {
            name: name.to_owned(),
        };
        match change {
            ViewChange::Create(view) => {
                check_view(view)?;
                if self.views.iter().any(|other| other.name == view.name) {
                    return Err(MetadataError::ViewExists {
                        name: view.name.clone(),
                    });
                }
                if self.views.len() >= VIEWS_MAX {
                    let what = format!("view {}", view.name);
                    let rule = format!("a keyspace has at most {VIEWS_MAX}");
                    return Err(MetadataError::invalid(what, &rule));
                }
                changed.views.push(ViewRecord {
                    id,
                    before: None,
                    ..view.clone()
                });
                changed.views.sort_by(|a, b| a.name.cmp(&b.name));
                changed.views_made = id;
            }
            ViewChange::Replace(with) => {
                check_view(with)?;
                let mut views = changed.views.iter_mut();
                let view = views.find(|view| view.name == with.name);
                let view = view.ok_or_else(|| missing(&with.name))?;
                let served = view.served();
                let before = IndexBefore {
                    id: served.id,
                    map: served.map,
                    reduce: served.reduce,
                };
                *view = ViewRecord {
                    id,
                    before: Some(before),
                    ..with.clone()
                };
                changed.views_made = id;
            }
            ViewChange::Settle(name, id) => {
                let mut views = changed.views.iter_mut();
                if let Some(view) = views.find(|view| view.name == *name && view.id == *id) {
                    view.before = None;
                }
            }
            ViewChange::Drop(name) => {
                changed.views.retain(|view| view.name != *name);
                if changed.views.len() == self.views.len() {
                    return Err(missing(name));
                }
            }
        }
        Ok(changed)
    }
}

fn check_view(view: &ViewRecord) -> Result<(), MetadataError> {
    check_name("view name", &view.name)?;
    if view.name == "." || view.name == ".." || view.name.starts_with('-') {
        let what = format!("view name {:?}", view.name);
        return Err(MetadataError::invalid(
            what,
            "must not be . or .., or begin with -",
        ));
    }
    let sources = [Some(&view.map), view.reduce.as_ref()];
    if sources
        .into_iter()
        .flatten()
        .any(|source| source.len() > VIEW_SOURCE_BYTES_MAX)
    {
        Err(MetadataError::invalid(
            format!("view {}", view.name),
            format!("a function has at most {VIEW_SOURCE_BYTES_MAX} bytes"),
        ))
    } else {
        Ok(())
    }
}

#[cfg(test)]
#[path = "view_record_tests.rs"]
mod tests;
