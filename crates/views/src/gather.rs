//! The answer to a query, gathered from the indexes of as many shards as it takes.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use bytes::Buf;
use dunlin_changes::{all_targets, assign};
use dunlin_entry::Vector;
use dunlin_log::Runner;
use dunlin_metadata::ViewRecord;
use dunlin_node::Services;
use dunlin_node::http::Rejected;
use dunlin_proto::{ShardAddress, Token};
use futures_util::future::join_all;
use hyper::StatusCode;
use tokio::time::{Instant, sleep};

use crate::engine::EngineError;
use crate::fold::{Fold, Folds};
use crate::index::IndexError;
use crate::page::{Head, Page, Piece, What};
use crate::plug::{AtShard, NUMBER, ask_more, ask_query};
use crate::query::{Query, Stale};
use crate::readers::More;
use crate::reduce::Reduce;
use crate::scan::PARTS_AT_ONCE;
use crate::serve::{Serving, WAIT};
use crate::wanted::{Range, Wanted};

/// Bytes of ranges that are sent at once.
const RANGES_BYTES: usize = 64 << 10;
/// A shard that says nothing for so long is given up.
const SILENCE: Duration = Duration::from_secs(10);
/// How often it is looked for who serves what nobody does.
const RETRY: Duration = Duration::from_millis(100);

/// Why an answer breaks off.
#[derive(Debug, thiserror::Error)]
#[error("the answer of a view broke off: {0}")]
pub(crate) struct Broken(String);

impl Broken {
    pub fn of(why: &impl std::fmt::Display) -> Broken {
        Broken(why.to_string())
    }

    pub fn malformed() -> Broken {
        Broken("a row of another shard cannot be read".to_owned())
    }

    pub fn forbidden() -> Broken {
        Broken("who asked may not read any more".to_owned())
    }

    pub fn stopping() -> Broken {
        Broken("the node stops".to_owned())
    }
}

/// An answer under way.
pub(crate) struct Gather {
    sources: Vec<Source>,
    /// What was looked at.
    peeked: Option<Option<Piece>>,
    descending: bool,
    reduce: Option<Reduce>,
    /// What it reflects.
    pub token: Token,
    /// Rows that the view has.
    pub rows: u64,
    /// What makes one of what a function of the user made at several shards; not while a job has it.
    fold: Option<Fold>,
    folds: Arc<Folds>,
    runner: Option<Runner>,
}

struct Source {
    from: From,
    reduce: Option<Reduce>,
    pieces: VecDeque<Piece>,
    is_last: bool,
}

enum From {
    Here(Box<Serving>),
    There(Box<There>),
}

impl Drop for Gather {
    fn drop(&mut self) {
        self.folds.give(self.fold.take());
    }
}

impl Gather {
    /// Begins an answer.
    pub async fn begin(
        services: &Rc<Services>,
        keyspace: u32,
        view: &ViewRecord,
        reduce: Option<Reduce>,
        query: &Query,
    ) -> Result<Gather, Rejected> {
        let absent = || unserved(view, query, None, "views are not served here");
        let own = AtShard::of(services).ok_or_else(absent)?;
        let count = services.partition_count(keyspace).unwrap_or(0);
        let mut left: Vec<u16> = (0..count).collect();
        let wanted_targets = match query.stale {
            Stale::No => Some(targets_of(services, keyspace, &left).await?),
            _ => None,
        };
        let wanted = Wanted {
            keyspace,
            view: view.id,
            partitions: Vec::new(),
            ranges: query.ranges.clone(),
            first_range: 0,
            has_more: false,
            descending: query.descending,
            group: query.group,
            by_keys: query.by_keys,
            rows_max: match query.group {
                None => query.limit.saturating_add(query.skip),
                Some(_) => u64::MAX,
            },
            targets: None,
        };
        let mut gather = Gather {
            sources: Vec::new(),
            peeked: None,
            descending: query.descending,
            reduce,
            token: Token::new(services.cluster_number(), keyspace, None, []),
            rows: 0,
            fold: None,
            folds: match own.view(keyspace, view.id) {
                Some(here) => here.folds.clone(),
                None => Arc::new(Folds::new(
                    own.engines,
                    view.reduce.as_deref().unwrap_or_default(),
                )),
            },
            runner: own.make_runner(services).ok(),
        };
        let mut tried: BTreeMap<ShardAddress, Vec<u16>> = BTreeMap::new();
        let mut why_not = "no replica of it can be reached".to_owned();
        let until = Instant::now() + WAIT;
        while !left.is_empty() {
            let assigned = assigned(services, keyspace, &left, &tried);
            if assigned.is_empty() {
                // Who is filled, or takes over, may be there in a moment.
                if query.stale == Stale::No && Instant::now() < until {
                    tried.clear();
                    sleep(RETRY).await;
                    continue;
                }
                return Err(unserved(view, query, left.first().copied(), &why_not));
            }
            let opened = assigned.iter().map(|(at, partitions)| {
                let of = |p: &u16| Some((*p, wanted_targets.as_ref()?.get(p)?.clone()));
                let wanted = Wanted {
                    partitions: partitions.clone(),
                    targets: wanted_targets
                        .is_some()
                        .then(|| partitions.iter().filter_map(of).collect()),
                    ..wanted.clone()
                };
                Source::open(services, *at, reduce, wanted)
            });
            let opened = join_all(opened).await;
            for ((at, partitions), opened) in assigned.into_iter().zip(opened) {
                tried.entry(at).or_default().extend(partitions);
                match opened {
                    Err(Broken(why)) => why_not = why,
                    Ok((head, source)) => {
                        if let (Some(token), Some(source)) = (&head.token, source) {
                            left.retain(|partition| token.vector(*partition).is_none());
                            gather.token.advance(token);
                            gather.rows += head.rows;
                            gather.sources.push(source);
                        }
                        if !head.why_not.is_empty() {
                            why_not = head.why_not;
                        }
                    }
                }
            }
        }
        Ok(gather)
    }

    /// Looks at the next piece, which stays the next.
    ///
    /// # Errors
    /// As of taking it.
    pub async fn peek(&mut self) -> Result<(), Broken> {
        if self.peeked.is_none() {
            self.peeked = Some(self.take().await?);
        }
        Ok(())
    }

    /// The next piece of the answer; of a group, all of it.
    pub async fn next(&mut self) -> Result<Option<Piece>, Broken> {
        match self.peeked.take() {
            Some(piece) => Ok(piece),
            None => self.take().await,
        }
    }

    async fn take(&mut self) -> Result<Option<Piece>, Broken> {
        let Some(mut piece) = self.pop().await? else {
            return Ok(None);
        };
        if let What::Group(all) = &mut piece.what {
            loop {
                self.fill().await?;
                let is_same = |next: &Piece| next.range == piece.range && next.at == piece.at;
                let mut sources = self.sources.iter_mut();
                let source = sources.find(|source| source.pieces.front().is_some_and(is_same));
                let Some(more) = source.and_then(|source| source.pieces.pop_front()) else {
                    break;
                };
                if let What::Group(more) = &more.what {
                    let reduce = self.reduce.unwrap_or(Reduce::Count);
                    let merged = all.merge(reduce, more);
                    merged.map_err(|unfit| Broken::of(&IndexError::Reduce(unfit.to_string())))?;
                }
                if all.parts.len() >= PARTS_AT_ONCE {
                    all.parts = vec![self.reduce_again(std::mem::take(&mut all.parts)).await?];
                }
            }
            if all.parts.len() > 1 {
                all.parts = vec![self.reduce_again(std::mem::take(&mut all.parts)).await?];
            }
        }
        Ok(Some(piece))
    }

    /// Has the function of the user make one of what it made.
    async fn reduce_again(&mut self, parts: Vec<Box<str>>) -> Result<Box<str>, Broken> {
        let absent = || Broken("there is no reduce function here".to_owned());
        let runner = self.runner.as_ref().ok_or_else(absent)?;
        let (fold, folds) = (self.fold.take(), self.folds.clone());
        let reduced = runner.run_read(move || {
            let mut fold = match fold {
                Some(fold) => fold,
                None => folds.take()?,
            };
            let reduced = fold.reduce_again(&parts)?;
            Ok::<_, EngineError>((reduced, fold))
        });
        let reduced = reduced.await.map_err(|gone| Broken(gone.to_string()))?;
        let (reduced, fold) = reduced.map_err(|error| Broken::of(&IndexError::from(error)))?;
        self.fold = Some(fold);
        Ok(reduced)
    }

    async fn pop(&mut self) -> Result<Option<Piece>, Broken> {
        self.fill().await?;
        let descending = self.descending;
        let is_before = |a: &Piece, b: &Piece| {
            let order = a.at.cmp(&b.at);
            let order = if descending { order.reverse() } else { order };
            a.range.cmp(&b.range).then(order).is_lt()
        };
        let mut first: Option<usize> = None;
        for (n, source) in self.sources.iter().enumerate() {
            let Some(piece) = source.pieces.front() else {
                continue;
            };
            let best = first.and_then(|first| self.sources[first].pieces.front());
            if best.is_none_or(|best| is_before(piece, best)) {
                first = Some(n);
            }
        }
        Ok(first.and_then(|first| self.sources[first].pieces.pop_front()))
    }

    /// Sees to it that each source that has more has it at hand.
    async fn fill(&mut self) -> Result<(), Broken> {
        let empty = |source: &&mut Source| source.pieces.is_empty() && !source.is_last;
        let lacking: Vec<_> = self.sources.iter_mut().filter(empty).collect();
        if lacking.is_empty() {
            return Ok(());
        }
        let filled = join_all(lacking.into_iter().map(Source::fill)).await;
        filled.into_iter().collect()
    }
}

impl Source {
    async fn open(
        services: &Rc<Services>,
        at: ShardAddress,
        reduce: Option<Reduce>,
        mut wanted: Wanted,
    ) -> Result<(Head, Option<Source>), Broken> {
        let source = |from, page: Option<Page>| Source {
            from,
            reduce,
            is_last: page.as_ref().is_some_and(|page| page.is_last),
            pieces: page.map(|page| page.pieces.into()).unwrap_or_default(),
        };
        if at == services.shard().address() {
            let own = AtShard::of(services);
            let view = own.and_then(|own| own.view(wanted.keyspace, wanted.view));
            let (mut head, serving) = Serving::begin(services, view, wanted).await;
            let page = head.page.take();
            let here = |serving| source(From::Here(Box::new(serving)), page);
            return Ok((head, serving.map(here)));
        }
        let ranges = wanted.ranges.clone();
        let (sent, has_more) = some_of(&ranges, 0);
        (wanted.ranges, wanted.has_more) = (ranges[..sent].into(), has_more);
        let body = ask_query(&wanted);
        let answer = services.ask(at, NUMBER, body, WAIT + SILENCE).await;
        let mut answer = answer.map_err(|error| Broken(error.to_string()))?;
        let reader = answer.try_get_u64_le().map_err(|_| Broken::malformed())?;
        let head = Head::decode(reduce, answer);
        let mut head = head.map_err(|error| Broken(error.to_string()))?;
        let mut there = There {
            services: services.clone(),
            at,
            reader,
            ranges,
            sent,
            is_at_end: false,
        };
        let page = head.page.take().map(|page| there.taken(page));
        let is_served = head.token.is_some();
        let there = From::There(Box::new(there));
        Ok((head, is_served.then(|| source(there, page))))
    }

    async fn fill(&mut self) -> Result<(), Broken> {
        while self.pieces.is_empty() && !self.is_last {
            let page = match &mut self.from {
                From::Here(serving) => {
                    let page = serving.next().await;
                    page.map_err(|error| Broken(error.to_string()))?
                }
                From::There(there) => there.next(self.reduce).await?,
            };
            self.is_last = page.is_last;
            self.pieces = page.pieces.into();
        }
        Ok(())
    }
}

/// A query that is under way at another shard.
struct There {
    services: Rc<Services>,
    at: ShardAddress,
    /// Its number there; 0 when nothing is left.
    reader: u64,
    ranges: Arc<[Range]>,
    /// As many ranges were sent.
    sent: usize,
    /// Those that were sent are at their end.
    is_at_end: bool,
}

impl There {
    /// Notes what a page says; it is the last when no more ranges are left.
    fn taken(&mut self, mut page: Page) -> Page {
        self.is_at_end = page.is_last;
        page.is_last &= self.sent == self.ranges.len();
        if page.is_last {
            self.reader = 0;
        }
        page
    }

    async fn next(&mut self, reduce: Option<Reduce>) -> Result<Page, Broken> {
        let own = AtShard::of(&self.services);
        let places = own.map(|own| own.places(self.at));
        let _place = match &places {
            Some(places) => places.acquire().await.ok(),
            None => None,
        };
        let ranges = self.is_at_end.then(|| {
            let first = self.sent;
            let (end, has_more) = some_of(&self.ranges, first);
            self.sent = end;
            (first as u32, has_more, self.ranges[first..end].into())
        });
        let reader = self.reader;
        let body = ask_more(&More { reader, ranges });
        let answer = self.services.ask(self.at, NUMBER, body, SILENCE).await;
        let answer = answer.map_err(|error| Broken(error.to_string()))?;
        let page = Page::decode(reduce, answer);
        Ok(self.taken(page.map_err(|error| Broken(error.to_string()))?))
    }
}

impl Drop for There {
    fn drop(&mut self) {
        let own = AtShard::of(&self.services).filter(|_| self.reader != 0);
        if let Some(own) = own {
            own.end_soon(self.at, self.reader);
        }
    }
}

/// The end of the ranges from a number on that are sent at once, and whether more are left.
fn some_of(ranges: &[Range], first: usize) -> (usize, bool) {
    let mut bytes = 0;
    let fits = |range: &&Range| {
        bytes += range.lower.len() + range.upper.len() + 8;
        bytes <= RANGES_BYTES
    };
    let count = ranges[first..].iter().take_while(fits).count().max(1);
    let end = (first + count).min(ranges.len());
    (end, end < ranges.len())
}

/// Which shard is asked for which partitions, of those that were not asked for them before.
fn assigned(
    services: &Services,
    keyspace: u32,
    left: &[u16],
    tried: &BTreeMap<ShardAddress, Vec<u16>>,
) -> BTreeMap<ShardAddress, Vec<u16>> {
    let own = services.shard().address();
    let replicas = |partition| services.replicas(keyspace, partition);
    if tried.is_empty() {
        return assign(left, own, replicas, |shard| services.is_reachable(shard));
    }
    let mut assigned: BTreeMap<ShardAddress, Vec<u16>> = BTreeMap::new();
    for partition in left {
        let is_open = |shard| {
            let of_shard = tried.get(&shard);
            let is_tried = of_shard.is_some_and(|tried| tried.contains(partition));
            services.is_reachable(shard) && !is_tried
        };
        for (at, partitions) in assign(&[*partition], own, replicas, is_open) {
            assigned.entry(at).or_default().extend(partitions);
        }
    }
    assigned
}

/// What the answer must reflect: all that a majority of each partition has.
async fn targets_of(
    services: &Rc<Services>,
    keyspace: u32,
    partitions: &[u16],
) -> Result<BTreeMap<u16, Vector>, Rejected> {
    let targets = all_targets(services, keyspace, partitions, WAIT).await;
    targets.map_err(|partition| {
        let line = format!(
            "no majority of the replicas of partition {partition} answers, so what was written is not known: stale=ok asks for what the index has"
        );
        Rejected::new(StatusCode::GATEWAY_TIMEOUT, line)
    })
}

fn unserved(view: &ViewRecord, query: &Query, partition: Option<u16>, why_not: &str) -> Rejected {
    let partition = partition.unwrap_or(0);
    let line = format!(
        "view {} cannot be read of partition {partition}: {why_not}; try again, dunlin view show tells how far it is",
        view.name
    );
    let status = match query.stale {
        Stale::No => StatusCode::GATEWAY_TIMEOUT,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    };
    Rejected::new(status, line)
}
