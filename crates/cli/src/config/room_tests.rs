#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

const ASKED: Asked = Asked {
    connections: None,
    memory: None,
    max_body_bytes: 16 << 20,
    shards: 1,
};

fn room(descriptors: u64, asked: Asked) -> Result<Room, String> {
    let machine = Machine {
        processors: 2,
        descriptors,
        memory_bytes: 8 << 30,
    };
    share_out(machine, asked).map_err(|failure| failure.to_string())
}

#[test]
fn connections_leave_descriptors_for_log_store_and_peers() {
    for (descriptors, shards) in [
        (180, 1),
        (200, 1),
        (1024, 1),
        (1024, 3),
        (1024, 10),
        (4096, 48),
        (1 << 20, 1),
        (u64::MAX, 64),
    ] {
        let room = room(descriptors, Asked { shards, ..ASKED }).unwrap();
        let connections = room.bounds.connections as u64;
        assert!((8..=10_000).contains(&connections), "{room:?}");
        assert!((16..=OPEN_FILES).contains(&room.open_files), "{room:?}");
        let tables = u64::from(room.open_files) * shards;
        let rest = descriptors - connections - tables;
        assert!(rest >= 80 + 40 * shards + 8, "{descriptors}: {room:?}");
    }
    assert_eq!(room(200, ASKED).unwrap().bounds.connections, 43);
    assert_eq!(room(1 << 20, ASKED).unwrap().bounds.connections, 10_000);
}

#[test]
fn what_cannot_be_had_is_refused_with_what_can() {
    let connections = |connections| Asked {
        connections: Some(connections),
        ..ASKED
    };
    assert_eq!(room(200, connections(43)).unwrap().bounds.connections, 43);
    assert_eq!(
        room(200, connections(44)).unwrap_err(),
        "max connections 44 is above 43, which the limit of open files, 200, leaves room for: raise it (ulimit -n)"
    );
    assert_eq!(
        room(1 << 20, connections(50_000))
            .unwrap()
            .bounds
            .connections,
        50_000
    );
    assert_eq!(
        room(1 << 20, connections(0)).unwrap_err(),
        "max connections must be at least 1"
    );
    let needed = "the limit of open files is 64, and 156 are needed at least: raise it (ulimit -n)";
    assert_eq!(room(64, ASKED).unwrap_err(), needed);
    assert!(room(155, ASKED).is_err());
    assert_eq!(room(156, ASKED).unwrap().bounds.connections, 8);
}

#[test]
fn memory_is_a_quarter_or_what_is_asked_for() {
    let asked = |memory, max_body_bytes| Asked {
        memory,
        max_body_bytes,
        ..ASKED
    };
    let bytes = |asked| room(1024, asked).map(|room| room.bounds.memory_bytes);
    assert_eq!(bytes(asked(None, 16 << 20)), Ok(2 << 30));
    assert_eq!(bytes(asked(Some(Size(32 << 20)), 16 << 20)), Ok(32 << 20));
    assert_eq!(
        bytes(asked(Some(Size((32 << 20) - 1)), 16 << 20)).unwrap_err(),
        "request memory 33554431 must be at least 32MiB, twice the largest body"
    );
    // A small machine: bodies of the allowed size can be taken all the same.
    let small = Machine {
        processors: 1,
        descriptors: 1024,
        memory_bytes: 64 << 20,
    };
    let room = share_out(small, ASKED).unwrap();
    assert_eq!(room.bounds.memory_bytes, 32 << 20);
}

#[test]
fn bodies_are_as_large_as_can_be_sent_on() {
    assert!(check_max_body(64 << 20).is_ok());
    assert!(check_max_body(1).is_ok());
    let line = |bytes| check_max_body(bytes).unwrap_err().to_string();
    assert_eq!(line(0), "max body must be at least 1 byte");
    assert_eq!(
        line((64 << 20) + 1),
        "max body 67108865 is above 64MiB, the most that nodes can send each other in one piece"
    );
    assert!(line(1 << 40).starts_with("max body 1TiB is above 64MiB"));
}

#[test]
fn each_processor_has_a_shard_until_a_cluster_would_be_full() {
    let machine = |processors| Machine {
        descriptors: 1 << 20,
        memory_bytes: 4 << 30,
        processors,
    };
    for (processors, nodes, each) in [
        (1, 1, 1),
        (2, 1, 2),
        (2, 3, 1),
        (7, 3, 2),
        (8, 1, 8),
        (96, 1, 8),
        (96, 3, 8),
    ] {
        let shards = shards(machine(processors), nodes);
        assert_eq!(shards, each, "{processors} processors, {nodes} nodes");
    }
}
