#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;

fn doors(connections: usize, memory_bytes: usize) -> Arc<Doors> {
    Doors::new(Bounds {
        connections,
        memory_bytes,
    })
}

#[test]
fn connections_are_counted_until_they_end() {
    let doors = doors(2, 0);
    let first = doors.enter().unwrap();
    let _second = doors.enter().unwrap();
    assert!(doors.enter().is_none());
    assert!(doors.enter().is_none());
    drop(first);
    let _third = doors.enter().unwrap();
    assert_eq!(doors.connections.load(Relaxed), 2);
    assert_eq!(doors.connections_refused.load(Relaxed), 2);
    let told: Vec<_> = std::iter::from_fn(|| doors.refuse()).collect();
    assert_eq!(told.len(), REFUSALS_MAX);
}

#[test]
fn memory_is_had_up_to_the_bound_and_given_back() {
    let doors = doors(0, 100);
    let mut body = doors.account();
    assert_eq!(body.grow(60), Ok(()));
    let mut other = doors.account();
    assert_eq!(other.grow(41), Err(NoRoom));
    assert_eq!(other.grow(40), Ok(()));
    assert!(!doors.has_room(1));
    assert_eq!(doors.memory_refused.load(Relaxed), 1);
    drop(body);
    assert_eq!(doors.memory_bytes(), 40);
    // What is there already is counted even beyond.
    other.set(150);
    assert_eq!(doors.account().grow(0), Err(NoRoom));
    other.set(10);
    assert_eq!(doors.memory_bytes(), 10);
    drop(other);
    assert_eq!(doors.memory_bytes(), 0);
}

#[test]
fn queues_count_beside_bodies() {
    let doors = doors(0, 100);
    doors.queued(0, 70);
    assert!(doors.has_room(30) && !doors.has_room(31));
    assert_eq!(doors.account().grow(31), Err(NoRoom));
    doors.queued(70, 20);
    doors.queued(0, 5);
    assert_eq!(doors.memory_bytes(), 25);
}
