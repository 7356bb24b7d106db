//! Homes in the tables of links: a cluster's id, and the prefix of keys where there is one. Pure.

/// The key of a home in a table of those of its entries whose keys begin with a prefix.
pub(crate) fn home_key(home: &str, prefix: &str) -> String {
    if prefix.is_empty() {
        home.to_owned()
    } else {
        format!("{home}/{prefix}")
    }
}

/// Home and prefix of such a key.
pub(crate) fn home_of(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or((key, ""))
}
