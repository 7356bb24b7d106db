//! Coverage: from where on a shard's log serves a partition, and what a token must cover to be served from
//! there. Pure. Decision 41.

use std::collections::BTreeMap;
use std::rc::Rc;

use dunlin_entry::{Vector, Version};
use dunlin_log::Index;
use dunlin_proto::Place;

use super::coverage_note::Note;

/// A place in the log behind which nothing came but through it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Mark {
    /// What was logged up to here does not tell all there is.
    pub index: Index,
    /// Who has all of this has what came otherwise, too; `None` where nobody can be known to.
    pub needs: Option<Vector>,
}

/// What the log is to one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Serves {
    /// Nothing: the partition is not here, or not yet whole.
    Away,
    /// Nothing at the moment: records come in beside the log.
    Open,
    /// All there is, behind the mark.
    Behind(Rc<Mark>),
}

/// How a partition differs from all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Apart {
    Away,
    Behind(Rc<Mark>),
}

/// From where on the log of a shard serves its partitions.
#[derive(Debug, Clone, Default)]
pub(crate) struct Coverage {
    /// The start of the node since which the log is one.
    pub since: u32,
    pub(super) floor: Rc<Mark>,
    /// Gaps that are open, of all partitions.
    pub(super) open: u32,
    /// One of these ended early.
    pub(super) is_unsure: bool,
    pub(super) apart: BTreeMap<Place, Apart>,
    /// The newest of each origin that came as copies before this start, beyond what the vector named.
    pub strays: Vector,
    /// No delete with a greater stamp has been forgotten, of each keyspace.
    pub(super) forgotten: BTreeMap<u32, Version>,
    /// The same, of all.
    pub(super) forgotten_all: Version,
    pub(super) changes: u64,
}

/// What a shard finds when it starts.
pub(crate) struct Found {
    pub incarnation: u32,
    /// Last record of its log.
    pub last: Index,
    /// Its past is doubted: the log may be another one, or have lost its end.
    pub is_doubted: bool,
    /// No delete that was ever stored here has a greater stamp.
    pub newest: Version,
}

impl Coverage {
    /// Of a shard that starts. Gaps that were open have ended, early; of a log without a note nothing is
    /// known, unless it is empty.
    pub fn begin(note: Option<Note>, found: &Found) -> Coverage {
        let mark = Rc::new(Mark {
            index: found.last,
            needs: None,
        });
        let Some(note) = note else {
            let is_new = found.last == 0 && !found.is_doubted;
            return Coverage {
                since: found.incarnation,
                floor: if is_new { Rc::new(nothing()) } else { mark },
                forgotten_all: if is_new { Version(0) } else { found.newest },
                ..Coverage::default()
            };
        };
        let (mut coverage, was_open) = note.read();
        // What was logged last may be gone, and others stand at its place.
        let is_beyond = coverage.marks().any(|mark| mark.index > found.last);
        if was_open || found.is_doubted || is_beyond {
            coverage.close_all(mark);
        }
        if found.is_doubted || is_beyond {
            coverage.since = found.incarnation;
            coverage.forgotten_all = coverage.forgotten_all.max(found.newest);
        }
        coverage
    }

    fn marks(&self) -> impl Iterator<Item = &Mark> + '_ {
        let apart = self.apart.values().filter_map(|apart| match apart {
            Apart::Away => None,
            Apart::Behind(mark) => Some(&**mark),
        });
        apart.chain([&*self.floor])
    }

    /// Grows with every change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the log is to be taken for no partition's.
    pub(super) fn is_open(&self) -> bool {
        self.open > 0
    }

    /// What the log is to a partition.
    pub fn of(&self, place: Place) -> Serves {
        match self.apart.get(&place) {
            Some(Apart::Away) => Serves::Away,
            _ if self.open > 0 => Serves::Open,
            Some(Apart::Behind(mark)) => Serves::Behind(mark.clone()),
            None => Serves::Behind(self.floor.clone()),
        }
    }

    /// Records are about to come in beside the log.
    pub fn open(&mut self) {
        self.changes += 1;
        self.open += 1;
    }

    /// They are not.
    pub fn unopen(&mut self) {
        self.changes += 1;
        self.open = self.open.saturating_sub(1);
    }

    /// They have, up to `index`; who has `needs` has them, too. Not so where they ended early.
    pub fn close(&mut self, index: Index, needs: Option<Vector>) {
        self.is_unsure |= needs.is_none();
        self.open = self.open.saturating_sub(1);
        let needs = needs.filter(|_| !self.is_unsure);
        self.close_all(Rc::new(Mark { index, needs }));
        if self.open == 0 {
            self.is_unsure = false;
        }
    }

    fn close_all(&mut self, mark: Rc<Mark>) {
        self.changes += 1;
        // All that stands before it in the log stands before this mark.
        self.apart.retain(|_, apart| *apart == Apart::Away);
        self.floor = mark;
    }

    /// Partitions are not here, or are about to be taken over; whether any was not known to be.
    pub fn leave(&mut self, places: impl IntoIterator<Item = Place>) -> bool {
        let mut is_news = false;
        for place in places {
            is_news |= self.apart.insert(place, Apart::Away) != Some(Apart::Away);
        }
        self.changes += u64::from(is_news);
        is_news
    }

    /// Partitions are here, whole, with all that the log has up to `index`; whether any was not.
    pub fn arrive(
        &mut self,
        places: impl IntoIterator<Item = Place>,
        index: Index,
        needs: Option<Vector>,
    ) -> bool {
        let mark = Rc::new(Mark { index, needs });
        let mut is_news = false;
        for place in places {
            if let Some(apart @ Apart::Away) = self.apart.get_mut(&place) {
                *apart = Apart::Behind(mark.clone());
                is_news = true;
            }
        }
        self.changes += u64::from(is_news);
        is_news
    }

    /// Those that are not here, or not whole.
    pub fn away(&self) -> impl Iterator<Item = Place> + '_ {
        let away = self
            .apart
            .iter()
            .filter(|(_, apart)| **apart == Apart::Away);
        away.map(|(place, _)| *place)
    }

    /// Nothing is said of keyspaces that are gone.
    pub fn forget_keyspaces(&mut self, is_gone: impl Fn(u32) -> bool) {
        self.apart.retain(|place, _| !is_gone(place.keyspace));
        self.forgotten.retain(|keyspace, _| !is_gone(*keyspace));
    }

    /// No delete of a keyspace with a stamp above this has been forgotten here, or missed in what came in.
    pub fn forgotten(&self, keyspace: u32) -> Version {
        let own = self.forgotten.get(&keyspace).copied().unwrap_or_default();
        own.max(self.forgotten_all)
    }

    /// Deletes up to these stamps are about to be forgotten; whether that was not noted. It is noted up to
    /// `slack` further, so that it is seldom written.
    pub fn forget(&mut self, up_to: impl IntoIterator<Item = (u32, Version)>, slack: u64) -> bool {
        let mut is_news = false;
        for (keyspace, version) in up_to {
            if version > self.forgotten(keyspace) {
                self.forgotten.insert(keyspace, Version(version.0 | slack));
                is_news = true;
            }
        }
        is_news
    }

    /// What [`Coverage::forgotten`] says of all keyspaces at least.
    pub fn forgotten_of_all(&self) -> Version {
        self.forgotten_all
    }

    /// What came in may lack deletes up to this stamp that whoever gave it had forgotten.
    pub fn came_without(&mut self, up_to: Version) {
        self.forgotten_all = self.forgotten_all.max(up_to);
    }
}

/// Of a log that has told all from its beginning.
fn nothing() -> Mark {
    Mark {
        index: 0,
        needs: Some(Vector::new()),
    }
}

#[cfg(test)]
#[path = "coverage_tests.rs"]
mod tests;
