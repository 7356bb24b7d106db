//! A node alone that speaks TLS, and those who speak with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::authority::Authority;
use crate::harness::child::{Process, dunlin};
use crate::harness::{eventually, metric, ports};

/// The names of its certificate.
pub const NAMES: &[&str] = &["localhost", "127.0.0.1"];

pub struct Secure {
    pub process: Process,
    pub port: u16,
    pub authority: Authority,
    pub ca: PathBuf,
    pub directory: tempfile::TempDir,
    client: Vec<String>,
}

/// How a command ended.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Secure {
    pub fn start(flags: &[&str]) -> Secure {
        Secure::with(flags, false)
    }

    /// One that lets in whoever its authority has signed a certificate for.
    pub fn mutual() -> Secure {
        Secure::with(&[], true)
    }

    fn with(flags: &[&str], is_mutual: bool) -> Secure {
        let directory = tempfile::tempdir().unwrap();
        let folder = directory.path();
        let authority = Authority::new();
        let ca = authority.file(folder, "ca.pem");
        let server = authority.pair(folder, "server", NAMES, 2120);
        let port = ports::row(2);
        let mut command = dunlin();
        command
            .env("DUNLIN_LOG", "trace")
            .args(["serve", "--name", "alone", "--metadata", "embedded"])
            .args(["--replicas", "1", "--data"])
            .arg(folder.join("data"))
            .args(["--http", &format!("127.0.0.1:{port}")])
            .args(["--listen", &format!("127.0.0.1:{}", port + 1)])
            .arg("--http-tls-cert")
            .arg(&server.certificate)
            .arg("--http-tls-key")
            .arg(&server.key)
            .args(flags);
        let mut client = vec!["--cacert".to_owned(), text(&ca)];
        if is_mutual {
            command.arg("--http-tls-client-ca").arg(&ca);
            let known = authority.pair(folder, "client", &["somebody"], 2120);
            client.extend(["--cert".to_owned(), text(&known.certificate)]);
            client.extend(["--key".to_owned(), text(&known.key)]);
        }
        let process = Process::start(&mut command, &folder.join("output"));
        let mut node = Secure {
            process,
            port,
            authority,
            ca,
            directory,
            client,
        };
        eventually("the node is ready", Duration::from_secs(30), || {
            assert!(node.process.is_running(), "{}", node.process.output());
            node.get("/health/ready").code == Some(0)
        });
        node
    }

    pub fn folder(&self) -> &Path {
        self.directory.path()
    }

    pub fn url(&self, path: &str) -> String {
        format!("https://127.0.0.1:{}{path}", self.port)
    }

    /// curl, which believes the authority and shows what the node asks for.
    pub fn curl(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("curl");
        command.args(["-sS", "--fail-with-body", "--max-time", "30"]);
        run(command.args(&self.client).args(arguments))
    }

    pub fn get(&self, path: &str) -> Said {
        self.curl(&[&self.url(path)])
    }

    /// The command line, which believes the authority.
    pub fn dunlin(&self, arguments: &[&str]) -> Said {
        let mut command = dunlin();
        command
            .env("DUNLIN_SERVER", self.url(""))
            .env("DUNLIN_TLS_CA", &self.ca);
        run(command.args(arguments))
    }

    pub fn metric(&self, name: &str) -> f64 {
        metric(&self.get("/metrics").out, name)
    }
}

pub fn run(command: &mut Command) -> Said {
    let output = command.output().unwrap();
    Said {
        code: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

impl Said {
    /// That it went well; what it said.
    #[track_caller]
    pub fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}{}", self.out, self.err);
        self.out
    }

    /// That it ended with this code and one line on standard error, which it returns.
    #[track_caller]
    pub fn refused(self, code: i32) -> String {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        assert_eq!(self.err.trim_end().lines().count(), 1, "{}", self.err);
        self.err
    }
}
