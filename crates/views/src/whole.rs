//! All rows of a shard's index, for simulations that compare them with its store.

use std::rc::Rc;

use bytes::Bytes;
use dunlin_node::Services;

use crate::build::held;
use crate::collate;
use crate::plug::AtShard;
use crate::row::row_of;
use crate::scan::{Position, Snapshot};
use crate::wanted::{Range, Wanted};

/// Key of the row as JSON, key of the document, value of the row as JSON.
pub type Row = (String, Bytes, String);

/// All rows of the first view of a keyspace, once it is whole at this shard and has all that its log has; none before,
/// and where it cannot be read.
pub fn rows_here(services: &Rc<Services>, keyspace: u32) -> Option<Vec<Row>> {
    let own = AtShard::of(services)?;
    let view = own.first(keyspace)?;
    let held: Vec<u16> = held(services, keyspace).into_iter().collect();
    let end = services.log_last();
    let snapshot = Snapshot::new(view.database()?, view.reduce);
    let building = snapshot.building().ok()?;
    let is_building = |partition: &u16| building.contains(partition);
    if held.iter().any(is_building) || !held.is_empty() && !view.is_past(services, &held, end) {
        return None;
    }
    let all = Range {
        lower: Vec::new(),
        upper: Vec::new(),
    };
    let wanted = Wanted {
        keyspace,
        view: view.record.id,
        partitions: held,
        ranges: vec![all].into(),
        first_range: 0,
        has_more: false,
        descending: false,
        group: None,
        by_keys: false,
        rows_max: u64::MAX,
        targets: None,
    };
    let (mut position, mut rows) = (Position::default(), Vec::new());
    loop {
        let page = snapshot.page(&wanted, None, &mut position);
        let page = page.inspect_err(|error| view.report(error)).ok()?;
        for piece in page.pieces {
            let (key, id) = row_of(&piece.at)?;
            let crate::page::What::Row(value) = piece.what else {
                return None;
            };
            let value = String::from_utf8_lossy(&value).into_owned();
            rows.push((collate::decode(key).ok()?, id, value));
        }
        if page.is_last {
            return Some(rows);
        }
    }
}
