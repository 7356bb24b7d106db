//! Keyspaces and links by their names.

use dunlin_metadata::LinkRecord;
use dunlin_node::http::Rejected;
use dunlin_node::{LinkedKeyspace, Services};
use hyper::StatusCode;

/// A keyspace, by its name.
pub(crate) fn named(services: &Services, name: &str) -> Result<LinkedKeyspace, Rejected> {
    let missing = || Rejected::new(StatusCode::NOT_FOUND, "there is no such keyspace");
    services.linked_keyspace(name).ok_or_else(missing)
}

/// A link from a keyspace, by its name.
pub(crate) fn find(services: &Services, keyspace: u32, name: &str) -> Result<LinkRecord, Rejected> {
    let mut links = services.links().into_iter();
    let found = links.find(|(of, link)| *of == keyspace && link.name == name);
    let missing = || {
        let line = format!(
            "there is no link {name} from this keyspace: dunlin link list shows which there are"
        );
        Rejected::new(StatusCode::NOT_FOUND, line)
    };
    found.map(|(_, link)| link).ok_or_else(missing)
}
