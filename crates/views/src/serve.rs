//! What one shard's index gives to a query, here or at another shard.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use dunlin_entry::Vector;
use dunlin_log::Index as LogIndex;
use dunlin_node::Services;
use tokio::time::{Instant, timeout_at};

use crate::fold::Fold;
use crate::index::IndexError;
use crate::page::{Head, Page};
use crate::reduce::Reduce;
use crate::scan::{Position, Snapshot};
use crate::view::View;
use crate::wanted::{Ranges, Wanted};

/// How long it is waited for what a query must reflect.
pub(crate) const WAIT: Duration = Duration::from_secs(5);
/// How often it is looked whether that is there, where nobody says so.
const LOOK: Duration = Duration::from_millis(10);

/// An index that is being read for a query.
pub(crate) struct Serving {
    snapshot: Arc<Snapshot>,
    wanted: Arc<Wanted>,
    position: Position,
    view: Rc<View>,
    /// What reduces rows, where a function of the user does; not while a job has it.
    fold: Option<Fold>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.view.folds.give(self.fold.take());
    }
}

impl Serving {
    /// Begins; none where nothing is served.
    pub async fn begin(
        services: &Rc<Services>,
        view: Option<Rc<View>>,
        wanted: Wanted,
    ) -> (Head, Option<Serving>) {
        let Some(view) = view else {
            return (Head::nothing("it has not heard of the view yet"), None);
        };
        let has_all = wait(services, &view, &wanted).await;
        match Self::of(&view, wanted, has_all) {
            Ok(begun) => begun,
            Err(error) => {
                view.report(&error);
                (Head::nothing(error.to_string()), None)
            }
        }
    }

    fn of(
        view: &Rc<View>,
        mut wanted: Wanted,
        has_all: impl Fn(u16) -> bool,
    ) -> Result<(Head, Option<Serving>), IndexError> {
        let unserved = |wanted: &Wanted| {
            let first = wanted.partitions.first().copied().unwrap_or(0);
            Head::nothing(view.why_not(first))
        };
        let Some(db) = view.database() else {
            return Ok((unserved(&wanted), None));
        };
        let snapshot = Snapshot::new(db, view.reduce).with_blocks(view.blocks());
        let Some(token) = snapshot.token()? else {
            return Ok((unserved(&wanted), None));
        };
        let building = snapshot.building()?;
        let (mut served, mut why_not) = (Vec::new(), String::new());
        for partition in &wanted.partitions {
            let is_named = token.vector(*partition).is_some();
            let is_begun = token.within(*partition).is_some();
            if !is_named || is_begun || building.contains(partition) {
                why_not = view.why_not(*partition);
            } else if !has_all(*partition) {
                why_not = "it does not have all that was written before".to_owned();
            } else {
                served.push(*partition);
            }
        }
        if served.is_empty() {
            return Ok((Head::nothing(why_not), None));
        }
        let mut head = Head {
            rows: match wanted.group {
                None => snapshot.rows_of(&served)?,
                Some(_) => 0,
            },
            token: Some(token.narrow(&served)),
            why_not,
            page: None,
        };
        wanted.partitions = served;
        let mut position = Position::default();
        if let Some((page, behind)) = snapshot.page_here(&wanted) {
            head.page = Some(page);
            position = behind;
        }
        let serving = Serving {
            snapshot: Arc::new(snapshot),
            wanted: Arc::new(wanted),
            position,
            view: view.clone(),
            fold: None,
        };
        Ok((head, Some(serving)))
    }

    pub fn reduce(&self) -> Option<Reduce> {
        self.snapshot.reduce
    }

    /// Whether more ranges come.
    pub fn has_more_ranges(&self) -> bool {
        self.wanted.has_more
    }

    /// Other ranges are wanted, of the same index as it was.
    pub fn go_on(&mut self, ranges: Ranges) {
        let wanted = Arc::make_mut(&mut self.wanted);
        (wanted.first_range, wanted.has_more, wanted.ranges) = ranges;
        self.position = std::mem::take(&mut self.position).at_others();
    }

    /// What comes next.
    pub async fn next(&mut self) -> Result<Page, IndexError> {
        let (snapshot, wanted) = (self.snapshot.clone(), self.wanted.clone());
        let mut position = std::mem::take(&mut self.position);
        let mut fold = self.fold.take();
        let is_folded = wanted.group.is_some() && self.view.reduce == Some(Reduce::Custom);
        let folds = self.view.folds.clone();
        let read = self.view.runner.run_read(move || {
            if is_folded && fold.is_none() {
                fold = Some(folds.take()?);
            }
            let page = snapshot.page(&wanted, fold.as_mut(), &mut position);
            Ok::<_, IndexError>((page, position, fold))
        });
        let (page, position, fold) = read.await??;
        self.fold = fold;
        self.position = position;
        page.inspect_err(|error| self.view.report(error))
    }
}

/// Waits until the index has what it must reflect, for a while; then, which partitions it has all of.
async fn wait(
    services: &Rc<Services>,
    view: &Rc<View>,
    wanted: &Wanted,
) -> impl Fn(u16) -> bool + use<> {
    let mut left: BTreeMap<u16, (&Vector, Option<LogIndex>)> = BTreeMap::new();
    for (partition, vector) in wanted.targets.iter().flatten() {
        left.insert(*partition, (vector, None));
    }
    let deadline = Instant::now() + WAIT;
    while !left.is_empty() && Instant::now() < deadline {
        let changed = view.changed();
        let known = services.shard().vector();
        for (partition, (vector, end)) in &mut left {
            let writes = |origin| services.may_write(wanted.keyspace, *partition, origin);
            let mut named = vector.iter();
            // What copies brought no vector names: so the log is read to the end that it has now.
            if end.is_none() && named.all(|(o, v)| known.get(o) >= v || !writes(o)) {
                *end = Some(services.log_last());
            }
        }
        let partitions: Vec<u16> = left.keys().copied().collect();
        let ends: Option<Vec<LogIndex>> = left.values().map(|(_, end)| *end).collect();
        let last = ends.and_then(|ends| ends.into_iter().max());
        match last {
            Some(last) if view.is_past(services, &partitions, last) => left.clear(),
            _ => left.retain(|partition, (_, end)| {
                !end.is_some_and(|end| view.is_past(services, &[*partition], end))
            }),
        }
        if !left.is_empty() {
            // Whether it came or not, it is looked again.
            let _ = timeout_at(Instant::now() + LOOK, changed).await;
        }
    }
    let lacking: Vec<u16> = left.into_keys().collect();
    move |partition| !lacking.contains(&partition)
}
