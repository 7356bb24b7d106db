#![allow(clippy::unwrap_used)]
use super::*;

/// One that is set by hand.
#[derive(Default)]
struct Manual(AtomicU64);

impl Clock for Manual {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

const KEYSPACE: u32 = 1;
const DAY: Duration = Duration::from_secs(86_400);
/// When what is known was last said.
const SAID_MS: u64 = 1_790_000_000_000;

/// The grace by a clock that has gone on, or was set, by `later` since what is known was said.
fn grace_after(later: Duration) -> Option<Duration> {
    let clock = Arc::new(Manual::default());
    let table = GraceTable::new(clock.clone());
    let mut by_keyspace = table.by_keyspace.write().unwrap();
    by_keyspace.insert(KEYSPACE, DAY);
    drop(by_keyspace);
    table.set_trusted(true);
    clock.0.store(SAID_MS, Ordering::Relaxed);
    table.set_known(Some(Version::new(SAID_MS - 5_000, 0)));
    let later_ms = later.as_millis() as u64;
    clock.0.store(SAID_MS + later_ms, Ordering::Relaxed);
    table.grace(KEYSPACE)
}

#[test]
fn nothing_is_forgotten_by_a_clock_set_forward_since_it_was_said_what_is_known() {
    assert_eq!(grace_after(Duration::ZERO), Some(DAY));
    assert_eq!(grace_after(KNOWN_FOR), Some(DAY));
    // All that is known would be older than any grace.
    assert_eq!(grace_after(KNOWN_FOR + Duration::from_millis(1)), None);
    assert_eq!(grace_after(25_550 * DAY), None);
}

#[test]
fn a_failed_flush_says_what_to_do() {
    let full = StoreError::NoSpace {
        detail: "IO error: No space left on device: While appending to file: 7.sst".to_owned(),
    };
    let failed = FlushFailed::of(full.to_string(), Err(full));
    assert_eq!(
        failed.line,
        "no space left for the store: make room on its disk"
    );
    assert!(failed.refuses);
    let few = StoreError::NoFiles;
    let failed = FlushFailed::of(few.to_string(), Ok(()));
    assert_eq!(failed.line, few.to_string());
    assert!(!failed.refuses);
}
