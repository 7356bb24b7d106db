//! What coverage is on disk: the file `coverage` of the shard's directory (formats, section 3).

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::rc::Rc;

use dunlin_entry::{Origin, Vector, Version};
use dunlin_log::disk::Disk;
use dunlin_proto::Place;
use serde::{Deserialize, Serialize};

use super::coverage::{Apart, Coverage, Mark};

const FILE: &str = "coverage";
const NEXT_FILE: &str = "coverage.next";

type Pairs = Vec<(u64, u64)>;
/// Of a keyspace, first and last of each range of partitions.
type Places = BTreeMap<u32, Vec<(u16, u16)>>;

/// Contents of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    incarnation: u32,
    since: u32,
    open: bool,
    floor: MarkNote,
    away: Places,
    behind: Vec<(MarkNote, Places)>,
    strays: Pairs,
    forgotten: BTreeMap<u32, u64>,
    forgotten_all: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct MarkNote {
    index: u64,
    needs: Option<Pairs>,
}

impl Note {
    /// What is to be written in this start of the node; `strays` are copies beyond the vector.
    pub fn of(coverage: &Coverage, strays: &Vector, incarnation: u32) -> Note {
        let away: Vec<Place> = coverage.away().collect();
        let mut behind: Vec<(Rc<Mark>, Vec<Place>)> = Vec::new();
        for (place, apart) in &coverage.apart {
            let Apart::Behind(mark) = apart else { continue };
            match behind.iter_mut().find(|(of, _)| Rc::ptr_eq(of, mark)) {
                Some((_, places)) => places.push(*place),
                None => behind.push((mark.clone(), vec![*place])),
            }
        }
        Note {
            incarnation,
            since: coverage.since,
            open: coverage.is_open(),
            floor: MarkNote::of(&coverage.floor),
            away: ranges(&away),
            behind: behind
                .iter()
                .map(|(mark, places)| (MarkNote::of(mark), ranges(places)))
                .collect(),
            strays: pairs(strays),
            forgotten: coverage.forgotten.iter().map(|(k, v)| (*k, v.0)).collect(),
            forgotten_all: coverage.forgotten_all.0,
        }
    }

    /// Whether it was written in this start: else one of a build that knows of no note has been there since.
    pub fn is_of(&self, incarnation: u32) -> bool {
        self.incarnation == incarnation
    }

    /// What it says, and whether a gap was open when it was written.
    pub(super) fn read(self) -> (Coverage, bool) {
        let mut apart = BTreeMap::new();
        apart.extend(places(&self.away).map(|place| (place, Apart::Away)));
        for (mark, of) in &self.behind {
            let mark = Rc::new(mark.read());
            apart.extend(places(of).map(|place| (place, Apart::Behind(mark.clone()))));
        }
        let forgotten = self.forgotten.into_iter();
        let coverage = Coverage {
            since: self.since,
            floor: Rc::new(self.floor.read()),
            apart,
            strays: vector(&self.strays),
            forgotten: forgotten.map(|(k, v)| (k, Version(v))).collect(),
            forgotten_all: Version(self.forgotten_all),
            ..Coverage::default()
        };
        (coverage, self.open)
    }

    /// The directory's file; `None` where there is none, or none that makes sense: then nothing is known.
    pub fn load(disk: &dyn Disk, dir: &Path) -> Option<Note> {
        let file = disk.open(&dir.join(FILE), false).ok()?;
        let mut bytes = Vec::new();
        let length = usize::try_from(file.len().ok()?).ok()?;
        file.read_into(&mut bytes, length, 0).ok()?;
        serde_json::from_slice(&bytes)
            .inspect_err(|error| tracing::warn!(%error, "what the log covers is not read"))
            .ok()
    }

    /// Replaces the file; on disk when this returns.
    ///
    /// # Errors
    /// What the disk says.
    pub fn store(&self, disk: &dyn Disk, dir: &Path) -> io::Result<()> {
        let next = dir.join(NEXT_FILE);
        let file = disk.open(&next, true)?;
        file.set_len(0)?;
        file.write_at(&serde_json::to_vec(self)?, 0)?;
        file.sync()?;
        disk.rename(&next, &dir.join(FILE))?;
        disk.sync_dir(dir)
    }
}

impl MarkNote {
    fn of(mark: &Mark) -> MarkNote {
        MarkNote {
            index: mark.index,
            needs: mark.needs.as_ref().map(pairs),
        }
    }

    fn read(&self) -> Mark {
        Mark {
            index: self.index,
            needs: self.needs.as_ref().map(vector),
        }
    }
}

fn pairs(vector: &Vector) -> Pairs {
    vector.iter().map(|(o, v)| (o.0, v.0)).collect()
}

fn vector(pairs: &Pairs) -> Vector {
    let seen = pairs.iter().map(|(o, v)| (Origin(*o), Version(*v)));
    seen.collect()
}

fn ranges(places: &[Place]) -> Places {
    let places: BTreeSet<(u32, u16)> = places.iter().map(|p| (p.keyspace, p.partition)).collect();
    let mut ranges = Places::new();
    for (keyspace, partition) in places {
        let of: &mut Vec<(u16, u16)> = ranges.entry(keyspace).or_default();
        match of.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(partition) => *last = partition,
            _ => of.push((partition, partition)),
        }
    }
    ranges
}

fn places(ranges: &Places) -> impl Iterator<Item = Place> + '_ {
    let of = |(keyspace, ranges): (&u32, &Vec<(u16, u16)>)| {
        let keyspace = *keyspace;
        let all: Vec<Place> = ranges
            .iter()
            .flat_map(|(first, last)| *first..=*last)
            .map(|partition| Place {
                keyspace,
                partition,
            })
            .collect();
        all
    };
    ranges.iter().flat_map(of)
}
