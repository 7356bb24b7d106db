//! A copy into a keyspace of three processes, killed at random moments, a node with it: what was
//! finished is not sent again, and in the end the keyspace is the source.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use crate::copy_support::keyspace::{PAIRS, body, bulk, create, key, scan};
use crate::copy_support::{content, db_bench};
use crate::harness::child::{Process, dunlin};
use crate::harness::flock::Flock;
use crate::harness::random::Random;

const KILLS: usize = 10;
/// What a copy goes on by.
const PLAN: &str = "dunlin-copy.partial/plan.json";

fn start(source: &Path, target: &str, log: &Path) -> Process {
    let mut command = dunlin();
    command.arg("copy").arg(source).arg(target);
    command.args(["--range-size=128KiB", "--connections=3"]);
    // Slow enough to be killed half way.
    command.args(["--limit=2MB/s", "--retry-for=600s", "--json"]);
    Process::start(&mut command, log)
}

/// Copies into `keyspace` with kills; answers how many there were.
fn kill_until_whole(flock: &mut Flock, keyspace: &str, random: &mut Random, node: bool) -> usize {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let (source, log) = (path("source"), path("copy.log"));
    db_bench(
        &source,
        &[
            "--benchmarks=fillrandom,overwrite,deleterandom",
            // At the limit above some three seconds of copying: no run ends before its kills by chance.
            "--num=150000",
            "--compression_type=none",
            "--write_buffer_size=500000",
            "--target_file_size_base=500000",
        ],
    );
    let expected = content(&source).remove("default").unwrap();
    let ports: Vec<u16> = flock.nodes.iter().map(|node| node.http).collect();
    create(ports[0], keyspace, 3);
    let servers = ports.iter().map(|port| format!("http://127.0.0.1:{port}"));
    let target = format!("{}/{keyspace}", servers.collect::<Vec<_>>().join(","));
    let mut copying = start(&source, &target, &log);
    let mut kills = 0;
    let mut is_node_down = false;
    loop {
        std::thread::sleep(random.millis(5, 800));
        if !copying.is_running() {
            break;
        }
        if node && kills == 1 && !is_node_down {
            // The copy goes on over the others.
            flock.kill(1);
            is_node_down = true;
            continue;
        }
        copying.kill();
        kills += 1;
        copying = start(&source, &target, &log);
    }
    let code = copying.ended(Duration::from_secs(1));
    let said = copying.output();
    // Killed when it had nothing left to do but to say so: the next one finds a copy that is whole.
    let was_whole = code == Some(1) && kills > 0 && said.contains("is not empty");
    assert!(code == Some(0) || was_whole, "{code:?}: {said}");
    assert_eq!(is_node_down, node);
    if is_node_down {
        flock.up(1);
        flock.wait_connected();
    }
    for port in ports {
        let found = scan(port, keyspace);
        assert!(
            found == expected,
            "{} against {}",
            found.len(),
            expected.len()
        );
    }
    if was_whole {
        println!("{keyspace}: {kills} kills, the last when it was whole");
    } else {
        let last = said.lines().rev().find(|line| line.starts_with('{'));
        let report: serde_json::Value = serde_json::from_str(last.unwrap()).unwrap();
        println!(
            "{keyspace}: {kills} kills, {} of {} units by earlier runs",
            report["units_done_before"], report["units"]
        );
    }
    let left = std::fs::read_dir(directory.path()).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left
        .filter(|name| name.to_string_lossy().contains("dunlin-copy"))
        .collect();
    // Killed after it had forgotten what it remembered, and before the directory of that was gone: the next
    // copy from this source removes it.
    let plan = |name: &OsString| directory.path().join(name).join(PLAN);
    let is_forgotten = |name: &OsString| was_whole && !plan(name).exists();
    assert!(left.iter().all(is_forgotten), "{left:?}");
    kills
}

#[test]
fn kills_of_the_copy_and_of_a_node_lose_nothing() {
    let mut random = Random::from_environment();
    let mut flock = Flock::start(&[]);
    let mut kills = 0;
    let mut round = 0;
    while kills < KILLS {
        kills += kill_until_whole(
            &mut flock,
            &format!("birds{round}"),
            &mut random,
            round == 0,
        );
        round += 1;
    }
}

#[test]
fn without_enough_replicas_a_copy_says_so_and_goes_on_later() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let arguments = [
        "--benchmarks=fillrandom",
        "--num=5000",
        "--compression_type=none",
    ];
    db_bench(&source, &arguments);
    let expected = content(&source).remove("default").unwrap();
    let mut flock = Flock::start(&[]);
    let port = flock.nodes[0].http;
    create(port, "birds", 3);
    let target = format!("http://127.0.0.1:{port}/birds");
    flock.kill(1);
    flock.kill(2);
    let sent = body(&[(b"a", b"1"), (b"b", b"2")]);
    let path = "/v1/keyspaces/birds/bulk";
    crate::harness::eventually("the others are missed", Duration::from_secs(20), || {
        let answer = bulk(port, path, PAIRS, &sent);
        answer.status == 504 && answer.text().contains("of the 2 needed can be reached")
    });
    assert_eq!(
        bulk(port, &format!("{path}?ack=1"), PAIRS, &sent).status,
        200
    );
    let copy = |more: &[&str]| {
        let mut command = dunlin();
        command.arg("copy").arg(&source).arg(&target).arg("--quiet");
        let output = command
            .args(["--retry-for=1s"])
            .args(more)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = copy(&["--merge"]);
    assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
    assert!(
        said.contains("is partial, 0 of 1 units are there: Not Enough Replicas"),
        "{said}"
    );
    flock.up(1);
    flock.wait_connected();
    assert_eq!(copy(&["--merge"]), (Some(0), String::new()));
    let mut both = expected;
    both.extend([
        (b"a".to_vec(), b"1".to_vec()),
        (b"b".to_vec(), b"2".to_vec()),
    ]);
    assert!(scan(port, "birds") == both);
}

#[test]
fn a_keyspace_that_was_made_anew_is_filled_from_the_beginning() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    db_bench(
        &source,
        &[
            "--benchmarks=fillrandom",
            "--num=30000",
            "--compression_type=none",
        ],
    );
    let expected = content(&source).remove("default").unwrap();
    let up = crate::harness::up::Up::nodes(1);
    let port = up.ports[0];
    create(port, "birds", 1);
    let (target, log) = (up.url(0, "/birds"), directory.path().join("copy.log"));
    let mut copying = start(&source, &target, &log);
    let some = |port| key(port, "GET", "birds", expected.keys().next().unwrap(), b"").status == 200;
    crate::harness::eventually("something is there", Duration::from_secs(60), || some(port));
    std::thread::sleep(Duration::from_millis(300));
    copying.kill();
    let dropped =
        crate::harness::wire::Wire::open(port).request("DELETE", "/v1/keyspaces/birds", b"");
    assert_eq!(dropped.status, 204);
    create(port, "birds", 1);
    let mut copying = start(&source, &target, &log);
    assert_eq!(
        copying.ended(Duration::from_secs(120)),
        Some(0),
        "{}",
        copying.output()
    );
    assert!(scan(port, "birds") == expected);

    // Another cluster at the same address gives its first keyspace the same number.
    let first = crate::harness::ports::row(1);
    let cluster = |data: &str| {
        let mut command = dunlin();
        command.args([
            "up",
            "--nodes=1",
            "--http-port",
            &first.to_string(),
            "--data",
        ]);
        command.arg(directory.path().join(data));
        let process = Process::start(&mut command, &directory.path().join("up.log"));
        crate::harness::eventually("it serves", Duration::from_secs(60), || {
            let wire = crate::harness::wire::Wire::try_open(first);
            wire.and_then(|mut wire| wire.try_request("GET", "/health", b""))
                .is_ok_and(|answer| answer.status == 200)
        });
        create(first, "birds", 1);
        process
    };
    let old = cluster("old");
    let target = format!("http://127.0.0.1:{first}/birds");
    let mut copying = start(&source, &target, &log);
    crate::harness::eventually("a unit is done", Duration::from_secs(60), || {
        let mut names = std::fs::read_dir(directory.path()).unwrap();
        names.any(|entry| {
            let done = entry.unwrap().path().join("dunlin-copy.partial/done");
            std::fs::metadata(done).is_ok_and(|done| done.len() > 0)
        })
    });
    copying.kill();
    drop(old);
    let _new = cluster("new");
    let mut copying = start(&source, &target, &log);
    let code = copying.ended(Duration::from_secs(120));
    assert_eq!(code, Some(0), "{}", copying.output());
    assert!(scan(first, "birds") == expected);
}
