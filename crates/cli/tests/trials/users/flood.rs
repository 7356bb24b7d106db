//! Wrong passwords, many at a time, while a good client goes on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::asking::{ADMIN, ask, close};
use crate::harness::up::Up;
use crate::harness::wire::Wire;

#[test]
fn wrong_passwords_stall_nobody_who_is_known() {
    let up = Up::with(1, &["--sync", "never"]);
    close(&up.url(0, ""));
    let good = "Authorization: Basic YW5uOmNvcnJlY3QgaG9yc2U=\r\n";
    let path = "/v1/keyspaces/default/keys/k";
    let put = |wire: &mut Wire| {
        wire.try_request_with("PUT", path, good, b"v")
            .unwrap()
            .status
    };
    let mut wire = Wire::open(up.ports[0]);
    assert_eq!(put(&mut wire), 201);
    let is_over = AtomicBool::new(false);
    let (wrong, busy) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut slowest = Duration::ZERO;
    let mut done = 0;
    let begun = Instant::now();
    thread::scope(|scope| {
        for number in 0..40 {
            let (is_over, wrong, busy) = (&is_over, &wrong, &busy);
            let port = up.ports[0];
            scope.spawn(move || {
                let mut wire = Wire::open(port);
                let text = format!("ann:wrong {number}");
                let bad = {
                    use base64::Engine;
                    base64::engine::general_purpose::STANDARD.encode(text)
                };
                let bad = format!("Authorization: Basic {bad}\r\n");
                while !is_over.load(Relaxed) {
                    match wire
                        .try_request_with("PUT", path, &bad, b"v")
                        .unwrap()
                        .status
                    {
                        401 => wrong.fetch_add(1, Relaxed),
                        503 => busy.fetch_add(1, Relaxed),
                        other => panic!("{other}"),
                    };
                }
            });
        }
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until {
            let begun = Instant::now();
            assert_eq!(put(&mut wire), 201);
            // One that comes anew is known, too.
            assert_eq!(put(&mut Wire::open(up.ports[0])), 201);
            slowest = slowest.max(begun.elapsed());
            done += 2;
        }
        is_over.store(true, Relaxed);
    });
    let (wrong, busy) = (wrong.load(Relaxed), busy.load(Relaxed));
    println!("{done} puts, the slowest two took {slowest:?}; {wrong} wrong, {busy} told to wait");
    assert!(wrong > 20 && busy > 0, "{wrong} wrong, {busy} busy");
    assert!(done > 200, "only {done} puts in 5 s");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    let metrics = ask(ADMIN, "GET", &up.url(0, "/metrics"), b"");
    let failed = format!("dunlin_logins_failed_total {wrong}");
    assert!(metrics.text().contains(&failed), "{failed}");
    assert!(
        metrics
            .text()
            .contains(&format!("dunlin_logins_refused_total {busy}"))
    );
    // Told once a second at most.
    let lines = up.process.output().matches("audit: failed login").count();
    let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
    assert!(
        (2..=seconds + 2).contains(&lines),
        "{lines} lines in {seconds} s"
    );
}
