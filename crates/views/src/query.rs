//! What a client asks of a view: the parameters that CouchDB has, and how fresh the answer is to be.

use std::collections::BTreeMap;
use std::sync::Arc;

use dunlin_node::http::{Params, Rejected};
use serde_json::value::RawValue;

use crate::collate::encode;
use crate::reduce::Reduce;
use crate::row::{after, put_id};
use crate::wanted::{Group, Range};

pub(crate) const PARAMS: &[&str] = &[
    "key",
    "keys",
    "startkey",
    "start_key",
    "endkey",
    "end_key",
    "startkey_docid",
    "start_key_doc_id",
    "endkey_docid",
    "end_key_doc_id",
    "inclusive_end",
    "descending",
    "limit",
    "skip",
    "reduce",
    "group",
    "group_level",
    "include_docs",
    "conflicts",
    "attachments",
    "stale",
    "update",
    "update_seq",
    "sorted",
    "stable",
];
/// A request asks no more queries at once.
const QUERIES_MAX: usize = 100;

/// How fresh an answer is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stale {
    /// As the index is.
    Ok,
    /// The same: an index is always being brought up to date.
    UpdateAfter,
    /// It reflects all that was acknowledged before.
    No,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Query {
    pub ranges: Arc<[Range]>,
    pub descending: bool,
    pub limit: u64,
    pub skip: u64,
    /// Rows where there is none.
    pub group: Option<Group>,
    pub by_keys: bool,
    pub include_docs: bool,
    pub stale: Stale,
    /// The answer says its position in a member of CouchDB's, too.
    pub update_seq: bool,
    /// Only rows that are skipped come before its first row.
    pub is_from_first: bool,
}

/// Queries of one request: one, or as many as a list has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queries {
    pub all: Vec<Query>,
    pub is_list: bool,
}

/// The options of a query, each a JSON text, but for those that are strings.
trait Given {
    /// As JSON.
    fn json(&self, name: &str) -> Result<Option<String>, Rejected>;
    /// A string.
    fn text(&self, name: &str) -> Result<Option<String>, Rejected>;
}

impl Given for Params {
    fn json(&self, name: &str) -> Result<Option<String>, Rejected> {
        // As client libraries encode them: a plus is a space.
        let value = self.get_form(name);
        let value = value.map(|bytes| String::from_utf8(bytes.to_vec()));
        let wrong = |_| Rejected::bad(format!("{name} is not UTF-8"));
        value.transpose().map_err(wrong)
    }

    fn text(&self, name: &str) -> Result<Option<String>, Rejected> {
        self.json(name)
    }
}

/// The body of a POST.
type Body = BTreeMap<String, Box<RawValue>>;

impl Given for Body {
    fn json(&self, name: &str) -> Result<Option<String>, Rejected> {
        Ok(self.get(name).map(|value| value.get().to_owned()))
    }

    fn text(&self, name: &str) -> Result<Option<String>, Rejected> {
        let text = self.get(name);
        let text = text.map(|value| serde_json::from_str(value.get()));
        let wrong = |_| Rejected::bad(format!("{name} is a string"));
        text.transpose().map_err(wrong)
    }
}

/// Options of the path, and those of the body that these do not name.
struct Both<'g>(&'g Params, &'g Body);

impl Given for Both<'_> {
    fn json(&self, name: &str) -> Result<Option<String>, Rejected> {
        self.0.json(name).and_then(|own| match own {
            Some(own) => Ok(Some(own)),
            None => self.1.json(name),
        })
    }

    fn text(&self, name: &str) -> Result<Option<String>, Rejected> {
        self.0.text(name).and_then(|own| match own {
            Some(own) => Ok(Some(own)),
            None => self.1.text(name),
        })
    }
}

impl Queries {
    /// Of a request's parameters.
    pub fn of_params(params: &Params, reduce: Option<Reduce>) -> Result<Queries, Rejected> {
        Ok(Queries {
            all: vec![Query::of(params, reduce)?],
            is_list: false,
        })
    }

    /// Of the body of a request, an object with the same names, or a list of such objects.
    pub fn of_body(
        params: &Params,
        body: &[u8],
        reduce: Option<Reduce>,
    ) -> Result<Queries, Rejected> {
        let wrong = |error| Rejected::bad(format!("the body is no JSON object: {error}"));
        let body: Body = serde_json::from_slice(body).map_err(wrong)?;
        let Some(list) = body.get("queries") else {
            return Ok(Queries {
                all: vec![Query::of_both(params, &body, reduce)?],
                is_list: false,
            });
        };
        if body.len() > 1 {
            let line = "queries is the only member of a body: each query has its own options";
            return Err(Rejected::bad(line));
        }
        let wrong = |error| Rejected::bad(format!("queries is no array of objects: {error}"));
        let list: Vec<Body> = serde_json::from_str(list.get()).map_err(wrong)?;
        if list.is_empty() || list.len() > QUERIES_MAX {
            let line = format!("queries has from 1 to {QUERIES_MAX} elements");
            return Err(Rejected::bad(line));
        }
        let all = list.iter().map(|body| Query::of_both(params, body, reduce));
        Ok(Queries {
            all: all.collect::<Result<_, _>>()?,
            is_list: true,
        })
    }
}

impl Query {
    fn of_both(params: &Params, body: &Body, reduce: Option<Reduce>) -> Result<Query, Rejected> {
        if let Some(name) = body.keys().find(|name| !PARAMS.contains(&name.as_str())) {
            let known = PARAMS.join(", ");
            let line = format!("{name} is not known here: only {known} are");
            return Err(Rejected::bad(line));
        }
        Query::of(&Both(params, body), reduce)
    }

    fn of(given: &impl Given, reduce: Option<Reduce>) -> Result<Query, Rejected> {
        let descending = flag(given, "descending")?.unwrap_or(false);
        let group = group(given, reduce)?;
        let include_docs = flag(given, "include_docs")?.unwrap_or(false);
        if include_docs && group.is_some() {
            let line = "include_docs is of rows, not of what they are reduced to: add reduce=false";
            return Err(Rejected::bad(line));
        }
        // A document has no conflicts and no attachments; an answer is always sorted, and of any replica.
        for name in ["conflicts", "attachments", "sorted", "stable"] {
            flag(given, name)?;
        }
        let keys = given.json("keys")?;
        if keys.is_some() && matches!(group, Some(Group::All | Group::Level(_))) {
            let line = "keys of what is reduced are each a group: add group=true";
            return Err(Rejected::bad(line));
        }
        let start_id = either(
            given,
            ["startkey_docid", "start_key_doc_id"],
            |given, name| given.text(name),
        )?;
        let end_id = either(given, ["endkey_docid", "end_key_doc_id"], |given, name| {
            given.text(name)
        })?;
        let by_keys = start_id.is_none() && end_id.is_none();
        let bounds = Bounds {
            start: either(given, ["startkey", "start_key"], key)?,
            end: either(given, ["endkey", "end_key"], key)?,
            start_id: start_id.map(String::into_bytes),
            end_id: end_id.map(String::into_bytes),
            is_inclusive: flag(given, "inclusive_end")?.unwrap_or(true),
            descending,
        };
        let one = key(given, "key")?;
        let has_bounds = bounds.start.is_some() || bounds.end.is_some();
        if usize::from(one.is_some()) + usize::from(keys.is_some()) + usize::from(has_bounds) > 1 {
            let line = "key, keys, and startkey with endkey are three ways of saying it: take one";
            return Err(Rejected::bad(line));
        }
        let is_from_first = one.is_none() && keys.is_none() && bounds.start.is_none();
        let ranges = match (one, keys) {
            (Some(one), _) => vec![bounds.of_key(one).range()?],
            (_, Some(keys)) => {
                let keys = many(&keys)?.into_iter();
                let ranges = keys.map(|key| bounds.clone().of_key(key).range());
                let mut ranges = ranges.collect::<Result<Vec<_>, _>>()?;
                if descending {
                    ranges.reverse();
                }
                ranges
            }
            _ => vec![bounds.range()?],
        };
        Ok(Query {
            ranges: ranges.into(),
            descending,
            limit: number(given, "limit")?.unwrap_or(u64::MAX),
            skip: number(given, "skip")?.unwrap_or(0),
            group,
            by_keys,
            include_docs,
            stale: stale(given)?,
            update_seq: flag(given, "update_seq")?.unwrap_or(false),
            is_from_first,
        })
    }
}

/// How fresh the answer is to be, in either way of saying it.
fn stale(given: &impl Given) -> Result<Stale, Rejected> {
    let stale = match given.text("stale")?.as_deref() {
        None => None,
        Some("ok") => Some(Stale::Ok),
        Some("update_after") => Some(Stale::UpdateAfter),
        Some("false") => Some(Stale::No),
        Some(_) => return Err(Rejected::bad("stale is ok, update_after or false")),
    };
    let update = given.json("update")?;
    let update = match update.as_deref().map(|text| text.trim_matches('"')) {
        None => None,
        Some("true") => Some(Stale::No),
        Some("false") => Some(Stale::Ok),
        Some("lazy") => Some(Stale::UpdateAfter),
        Some(_) => return Err(Rejected::bad("update is true, false or lazy")),
    };
    match (stale, update) {
        (Some(_), Some(_)) => Err(Rejected::bad("stale and update say the same: take one")),
        (stale, update) => Ok(stale.or(update).unwrap_or(Stale::Ok)),
    }
}

/// An option that has two names.
fn either<G: Given, T>(
    given: &G,
    names: [&str; 2],
    read: impl Fn(&G, &str) -> Result<Option<T>, Rejected>,
) -> Result<Option<T>, Rejected> {
    match (read(given, names[0])?, read(given, names[1])?) {
        (Some(_), Some(_)) => {
            let [one, other] = names;
            let line = format!("{one} and {other} are one option: give it once");
            Err(Rejected::bad(line))
        }
        (one, other) => Ok(one.or(other)),
    }
}

/// Where rows begin and end.
#[derive(Clone)]
struct Bounds {
    start: Option<Vec<u8>>,
    end: Option<Vec<u8>>,
    start_id: Option<Vec<u8>>,
    end_id: Option<Vec<u8>>,
    is_inclusive: bool,
    descending: bool,
}

impl Bounds {
    fn of_key(self, key: Vec<u8>) -> Bounds {
        Bounds {
            start: Some(key.clone()),
            end: Some(key),
            ..self
        }
    }

    fn range(self) -> Result<Range, Rejected> {
        // Documents bound nothing without the key.
        let place = |key: &Vec<u8>, id: &Option<Vec<u8>>| {
            let mut place = key.clone();
            if let Some(id) = id {
                put_id(&mut place, id);
            }
            place
        };
        let start = self.start.as_ref().map(|key| place(key, &self.start_id));
        let end = self.end.as_ref().map(|key| place(key, &self.end_id));
        let (lower, upper) = if !self.descending {
            (
                start,
                end.map(|end| if self.is_inclusive { after(&end) } else { end }),
            )
        } else {
            (
                end.map(|end| if self.is_inclusive { end } else { after(&end) }),
                start.map(|start| after(&start)),
            )
        };
        if let (Some(start), Some(end)) = (&self.start, &self.end)
            && (start > end) != self.descending
            && start != end
        {
            let line =
                "no row can be in this range: exchange startkey and endkey, or set descending=true";
            return Err(Rejected::bad(line));
        }
        Ok(Range {
            lower: lower.unwrap_or_default(),
            upper: upper.unwrap_or_default(),
        })
    }
}

/// How rows are reduced, where they are.
fn group(given: &impl Given, reduce: Option<Reduce>) -> Result<Option<Group>, Rejected> {
    let wants = flag(given, "reduce")?;
    let level = number(given, "group_level")?;
    let exact = flag(given, "group")?;
    let is_grouped = exact == Some(true) || level.is_some();
    match (reduce, wants) {
        (None, Some(true)) => Err(Rejected::bad("this view has no reduce")),
        (None, _) | (_, Some(false)) if is_grouped => {
            Err(Rejected::bad("only what is reduced is grouped"))
        }
        (None, _) | (_, Some(false)) => Ok(None),
        (Some(_), _) => Ok(Some(match (exact, level) {
            (Some(true), None) => Group::Exact,
            (_, None | Some(0)) => Group::All,
            (_, Some(level)) => Group::Level(u16::try_from(level).unwrap_or(u16::MAX)),
        })),
    }
}

fn key(given: &impl Given, name: &str) -> Result<Option<Vec<u8>>, Rejected> {
    let json = given.json(name)?;
    let wrong = |error| {
        let line = format!("{name} is no JSON, as \"text\", 7 or [1,\"a\"]: {error}");
        Rejected::bad(line)
    };
    json.map(|json| encode(&json).map_err(wrong)).transpose()
}

fn many(keys: &str) -> Result<Vec<Vec<u8>>, Rejected> {
    let wrong = |error| Rejected::bad(format!("keys is no JSON array of keys: {error}"));
    let keys: Vec<&RawValue> = serde_json::from_str(keys).map_err(wrong)?;
    let keys = keys.into_iter().map(|key| encode(key.get()).map_err(wrong));
    keys.collect()
}

fn flag(given: &impl Given, name: &str) -> Result<Option<bool>, Rejected> {
    match given.json(name)?.as_deref() {
        None => Ok(None),
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some(_) => Err(Rejected::bad(format!("{name} is true or false"))),
    }
}

fn number(given: &impl Given, name: &str) -> Result<Option<u64>, Rejected> {
    let Some(text) = given.json(name)? else {
        return Ok(None);
    };
    let is_whole = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_whole);
    let wrong = || Rejected::bad(format!("{name} must be a whole number"));
    number.map(Some).ok_or_else(wrong)
}

#[cfg(test)]
#[path = "query_tests.rs"]
mod tests;
