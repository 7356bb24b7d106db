//! Keyspaces that want more copies than there are members to hold them, told to people.

/// What keyspace `name` lacks with so many copies and members; `None` when it lacks nothing.
pub fn shortage(name: &str, replicas: usize, members: usize) -> Option<String> {
    // Servers of old do not say who is a member.
    if replicas <= members || members == 0 {
        return None;
    }
    let need = replicas / 2 + 1;
    let has = match members {
        1 => "1 member".to_owned(),
        members => format!("{members} members"),
    };
    let follows = match need.cmp(&members) {
        std::cmp::Ordering::Greater => {
            format!("a majority is {need}, so requests are answered 504")
        }
        std::cmp::Ordering::Equal => {
            format!("a majority is {need}, so none of them may be away")
        }
        std::cmp::Ordering::Less => format!("copies missing: {}", replicas - members),
    };
    Some(format!(
        "keyspace {name} keeps {replicas} copies of each key, and the cluster has {has}: {follows}; \
         add nodes (dunlin node add), or make it with --replicas {members}"
    ))
}

#[cfg(test)]
#[path = "shortage_tests.rs"]
mod tests;
