//! The examples of the README and of the pages behind it, those of a page pasted in their order into one
//! shell, on a machine of their own: a network namespace with nothing on its ports.

// Tests stand outside the simulation: processes, sockets, files and time are real.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::harness::child::Process;
use crate::harness::namespace::Network;

/// A package catalogue that is there on every machine.
const CATALOGUE: &str =
    "#!/bin/sh\nfor i in 1 2 3; do printf 'Package: p%s\\nSection: net\\n\\n' $i; done\n";
/// Long enough for the slowest of them, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(400);

/// What stands in blocks of shell, in order.
fn blocks(page: &str) -> Vec<&str> {
    let of_shell = page.split("```sh\n").skip(1);
    of_shell
        .map(|rest| rest.split("```").next().unwrap())
        .collect()
}

/// The blocks as one script that says before each which it is, and ends at the first that fails. What it
/// kills by name it kills in its own namespace alone.
fn script(page: &str, directory: &Path) -> String {
    let mut script = String::from(
        "set -euo pipefail\n\
         curl() { if [ \"$1\" = -sf ]; then command curl \"$@\"; else command curl --fail-with-body \"$@\"; fi; }\n\
         pkill() { command pkill --ns $$ --nslist net \"$@\"; }\n\
         dunlin up --data ./data --http-port 8080 &\n\
         until curl -sf http://127.0.0.1:8082/health; do sleep 0.2; done\n",
    );
    for block in blocks(page) {
        // These are the build and its package, and a cluster of their own that has a test of its own.
        if block.starts_with("make ") {
            continue;
        }
        let heading = block.lines().next().unwrap().replace('\'', "");
        script.push_str(&format!("echo '== {heading}'\n"));
        script.push_str(&block.replace("/tmp/", &format!("{}/", directory.display())));
    }
    script + "echo '== all done'\n"
}

/// What is left running in the namespace ends with the test.
struct Leftovers(String);

impl Drop for Leftovers {
    fn drop(&mut self) {
        let pids = Command::new("ip").args(["netns", "pids", &self.0]).output();
        let Ok(pids) = pids else { return };
        for pid in String::from_utf8_lossy(&pids.stdout).lines() {
            let _ = Command::new("kill").args(["-9", pid]).status();
        }
    }
}

/// Pastes a page, which has so many blocks.
fn paste(page: &str, count: usize) {
    assert_eq!(blocks(page).len(), count);
    let Some(network) = Network::of(1) else {
        return;
    };
    let namespace = &network.hosts[0].namespace;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let bin = at.join("bin");
    std::fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_dunlin"), bin.join("dunlin")).unwrap();
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    std::os::unix::fs::symlink(examples, at.join("examples")).unwrap();
    let catalogue = bin.join("apt-cache");
    std::fs::write(&catalogue, CATALOGUE).unwrap();
    std::fs::set_permissions(&catalogue, PermissionsExt::from_mode(0o755)).unwrap();
    let file = at.join("readme.sh");
    std::fs::write(&file, script(page, at)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("ip");
    command
        .args(["netns", "exec", namespace, "bash"])
        .arg(&file)
        .env("PATH", format!("{}:{path}", bin.display()))
        .env_remove("DUNLIN_SERVER")
        .current_dir(at);
    let mut pasted = Process::start(&mut command, &at.join("said"));
    let _leftovers = Leftovers(namespace.clone());
    let deadline = Instant::now() + PATIENCE;
    while pasted.is_running() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    let said = pasted.output();
    let last: Vec<&str> = said.lines().rev().take(60).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    assert!(!pasted.is_running(), "still at work:\n{}", last.join("\n"));
    assert!(said.contains("== all done"), "{}", last.join("\n"));
}

macro_rules! pages {
    ($($name:ident $file:literal $count:literal)*) => {$(
        #[test]
        fn $name() {
            paste(include_str!(concat!("../../../../", $file)), $count);
        }
    )*};
}

pages! {
    the_readme "README.md" 9
    operations "docs/operations.md" 8
    security "docs/security.md" 4
    import "docs/import.md" 1
    the_log_tool "docs/log-tool.md" 3
    copying_a_database "docs/copy.md" 2
    change_streams "docs/streams.md" 3
    views "docs/views.md" 2
    transactional_keyspaces "docs/transactional.md" 8
}

#[test]
fn the_readme_is_short() {
    let lines = include_str!("../../../../README.md").lines().count();
    assert!(lines <= 150, "{lines} lines");
}
