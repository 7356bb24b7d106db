//! Certificates that are renewed while clients are at work.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::harness::authority::write;
use crate::harness::eventually;
use crate::harness::secure::{NAMES, Secure};

#[test]
fn a_new_certificate_is_shown_and_no_request_fails() {
    let node = Secure::start(&[]);
    let expires = || node.metric("dunlin_tls_certificate_expires_timestamp_seconds");
    assert_eq!(expires(), 4733510400.0);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let mut requests = 0;
            while !is_done.load(Ordering::Relaxed) {
                // Each over a connection of its own, and some over one that lasts.
                let url = node.url("/v1/keyspaces/default/keys/k");
                node.curl(&["-X", "PUT", "--data-binary", "v", &url]).ok();
                assert_eq!(node.curl(&[&url, &url, &url]).ok(), "vvv");
                requests += 4;
            }
            requests
        });
        // Names that it has not had before prove which one is shown.
        let shows = |name: &str| {
            let resolve = format!("{name}:{}:127.0.0.1", node.port);
            let url = format!("https://{name}:{}/health", node.port);
            node.curl(&["--resolve", &resolve, &url]).code == Some(0)
        };
        assert!(!shows("one.example"));
        for (name, until, s) in [
            ("one.example", 2090, 3786912000.0),
            ("two.example", 2095, 3944678400.0),
        ] {
            let (certificate, key) = node.authority.sign(&[NAMES, &[name]].concat(), until);
            // In the order of a tool that knows nothing of pairs, and with time in between.
            write(node.folder(), "server.pem", &certificate);
            std::thread::sleep(Duration::from_millis(500));
            write(node.folder(), "server.key", &key);
            eventually("it is shown", Duration::from_secs(15), || shows(name));
            assert_eq!(expires(), s);
        }
        // Files that are not whole change nothing, and are told once.
        write(node.folder(), "server.key", "nothing");
        eventually("it is told", Duration::from_secs(15), || {
            node.process
                .output()
                .contains("are not used, those of before stay in use")
        });
        std::thread::sleep(Duration::from_secs(5));
        let output = node.process.output();
        assert_eq!(
            output.matches("those of before stay in use").count(),
            1,
            "{output}"
        );
        assert!(shows("two.example"));
        is_done.store(true, Ordering::Relaxed);
        assert!(load.join().unwrap() > 100);
    });
}
