//! A panic anywhere ends the process. Seen with this test's own binary as the process: there is no
//! way to make a node panic from outside, and there shall be none.

use std::process::{Command, Output};
use std::time::Duration;

use dunlin_cli::panics::{EXIT_CODE, end_the_process};
use dunlin_log::Runner;

/// Names what the child does; without it the child's test does nothing.
const WHERE: &str = "DUNLIN_TEST_PANIC";

fn child(place: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "peers::panics::as_a_child",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(WHERE, place)
        .env_remove("RUST_BACKTRACE")
        .output()
        .unwrap()
}

/// What a node is made of: tasks of an event loop that nobody waits for, jobs on I/O threads whose
/// panics are caught, and threads.
#[test]
fn as_a_child() {
    let Ok(place) = std::env::var(WHERE) else {
        return;
    };
    end_the_process();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        match place.as_str() {
            "task" => drop(tokio::task::spawn_local(async { panic!("in a\ntask") })),
            "job" => {
                let runner = Runner::thread("n1/0-log").unwrap();
                let _ = runner.run(|| panic!("in a job")).await;
            }
            "thread" => drop(std::thread::spawn(|| panic!("in a thread"))),
            "two" => {
                for _ in 0..2 {
                    drop(std::thread::spawn(|| panic!("in two threads")));
                }
            }
            place => panic!("unknown: {place}"),
        }
        tokio::time::sleep(Duration::from_secs(20)).await;
    });
}

#[test]
fn wherever_it_happens_it_ends_the_process_with_one_line() {
    for place in ["task", "job", "thread", "two"] {
        let output = child(place);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(EXIT_CODE), "{place}: {errors}");
        let lines: Vec<&str> = errors.lines().collect();
        let [line] = lines[..] else {
            panic!("{place}: not one line: {errors}");
        };
        assert!(
            line.starts_with("dunlin: a bug in dunlin, in thread "),
            "{line}"
        );
        assert!(line.contains("tests/trials/peers/panics.rs:"), "{line}");
        assert!(
            line.contains(": in a") || line.contains(": in two"),
            "{line}"
        );
        assert!(line.contains("start it again"), "{line}");
    }
    assert!(String::from_utf8_lossy(&child("job").stderr).contains("n1/0-log"));
}
