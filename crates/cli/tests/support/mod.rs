//! Runs the `dunlin` binary ([`operator`] on a cluster whose members change), a store in memory that
//! answers like a node ([`store`]), and what nodes hold on disk ([`copies`]).

// Each test binary compiles its own copy and uses a part of it.
#![allow(dead_code)]

pub mod copies;
pub mod operator;
pub mod store;

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// A `dunlin` with no settings from the environment.
pub fn dunlin(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dunlin"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("DUNLIN_") {
            command.env_remove(name);
        }
    }
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a finished command left.
pub struct Ended {
    pub code: i32,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

impl Ended {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|e| panic!("{e} in {:?}, stderr {}", self.text(), self.stderr))
    }

    /// The one line of a failure.
    pub fn complaint(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "stderr: {}", self.stderr);
        assert_eq!(
            self.stderr.lines().count(),
            1,
            "not one line: {}",
            self.stderr
        );
        self.stderr
            .strip_prefix("dunlin: ")
            .expect("no prefix")
            .trim_end()
    }

    /// It was done, but for malformed records.
    pub fn partly(self) -> Ended {
        assert!(self.complaint(5).starts_with("left out"), "{}", self.stderr);
        self
    }

    pub fn ok(self) -> Ended {
        assert_eq!(self.code, 0, "stderr: {}", self.stderr);
        self
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Ended {
        Ended {
            code: output.status.code().expect("ended by a signal"),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub fn run(arguments: &[&str]) -> Ended {
    dunlin(arguments).output().unwrap().into()
}

pub fn run_with_input(arguments: &[&str], input: &[u8]) -> Ended {
    let mut child = dunlin(arguments).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The command may end before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let ended = child.wait_with_output().unwrap().into();
    writer.join().unwrap();
    ended
}
