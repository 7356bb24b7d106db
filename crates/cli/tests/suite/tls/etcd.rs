//! A real etcd with TLS, certificates of clients, and users.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::harness::authority::{Authority, write};
use crate::harness::child::{Process, dunlin};
use crate::harness::secure::{Said, run, text};
use crate::harness::{eventually, ports};

struct Etcd {
    process: Process,
    port: u16,
    ca: PathBuf,
    folder: PathBuf,
}

impl Etcd {
    /// One that asks for certificates of its authority.
    fn start(folder: &Path, authority: &Authority) -> Etcd {
        let port = ports::row(2);
        let ca = authority.file(folder, "etcd-ca.pem");
        let server = authority.pair(folder, "etcd", &["127.0.0.1", "localhost"], 2120);
        authority.pair(folder, "node", &["node"], 2120);
        let client = format!("https://127.0.0.1:{port}");
        let peer = format!("http://127.0.0.1:{}", port + 1);
        let mut command = Command::new("etcd");
        command
            .args(["--name", "m", "--log-level", "error"])
            .args(["--initial-cluster", &format!("m={peer}")])
            .args(["--listen-client-urls", &client])
            .args(["--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer])
            .args(["--initial-advertise-peer-urls", &peer])
            .arg("--cert-file")
            .arg(&server.certificate)
            .arg("--key-file")
            .arg(&server.key)
            .arg("--trusted-ca-file")
            .arg(&ca)
            .arg("--client-cert-auth")
            .arg("--data-dir")
            .arg(folder.join("etcd"));
        let process = Process::start(&mut command, &folder.join("etcd.output"));
        let mut etcd = Etcd {
            process,
            port,
            ca,
            folder: folder.to_owned(),
        };
        eventually("etcd answers", Duration::from_secs(30), || {
            assert!(etcd.process.is_running(), "{}", etcd.process.output());
            etcd.ctl(&["endpoint", "health"]).code == Some(0)
        });
        etcd
    }

    fn ctl(&self, arguments: &[&str]) -> Said {
        let mut command = Command::new("etcdctl");
        command
            .env("ETCDCTL_API", "3")
            .args(["--endpoints", &format!("https://127.0.0.1:{}", self.port)])
            .arg("--cacert")
            .arg(&self.ca)
            .arg("--cert")
            .arg(self.folder.join("node.pem"))
            .arg("--key")
            .arg(self.folder.join("node.key"));
        run(command.args(arguments))
    }

    fn metadata(&self) -> String {
        format!("etcds://127.0.0.1:{}", self.port)
    }

    /// What a node is told of it.
    fn flags(&self) -> Vec<String> {
        let file = |name: &str| text(&self.folder.join(name));
        let ca = file("etcd-ca.pem");
        let (certificate, key) = (file("node.pem"), file("node.key"));
        let flags = [
            "--etcd-tls-ca",
            &ca,
            "--etcd-tls-cert",
            &certificate,
            "--etcd-tls-key",
            &key,
        ];
        flags.map(str::to_owned).to_vec()
    }
}

fn serve(folder: &Path, port: u16, metadata: &str, flags: &[String]) -> Command {
    let mut command = dunlin();
    command
        .env("DUNLIN_LOG", "debug")
        .args([
            "serve",
            "--name",
            "n1",
            "--replicas",
            "1",
            "--metadata",
            metadata,
            "--data",
        ])
        .arg(folder.join("data"))
        .args(["--http", &format!("127.0.0.1:{port}")])
        .args(["--listen", &format!("127.0.0.1:{}", port + 1)])
        .args(flags);
    command
}

fn client(port: u16, arguments: &[&str]) -> Said {
    let server = format!("http://127.0.0.1:{port}");
    run(dunlin().env("DUNLIN_SERVER", server).args(arguments))
}

/// Starts a node and waits until it says something, which ends the test of it.
fn says(mut command: Command, log: &Path, words: &str) {
    let node = Process::start(&mut command, log);
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while !node.output().contains(words) {
        assert!(std::time::Instant::now() < deadline, "{}", node.output());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_node_reaches_etcd_over_tls_and_says_what_is_in_the_way() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let authority = Authority::new();
    let etcd = Etcd::start(folder, &authority);
    let (port, metadata, flags) = (ports::row(2), etcd.metadata(), etcd.flags());
    let log = |name: &str| folder.join(name);
    // Wrong use ends at once; what may change while etcd starts is said while it is waited for.
    let plain = metadata.replace("etcds", "etcd");
    let line = run(&mut serve(folder, port, &plain, &flags));
    assert!(line.err.contains("write etcds://"), "{}", line.err);
    let half = run(&mut serve(folder, port, &metadata, &flags[..4]));
    assert!(
        half.err
            .contains("--etcd-tls-cert goes with --etcd-tls-key"),
        "{}",
        half.err
    );
    let bad = ["--etcd-tls-ca".to_owned(), text(&folder.join("none"))];
    let line = run(&mut serve(folder, port, &metadata, &bad)).refused(1);
    assert!(line.contains("etcd cannot be asked: CA file"), "{line}");
    let unknown = "name the file of its CA (--etcd-tls-ca)";
    says(
        serve(folder, port, &metadata, &[]),
        &log("unknown"),
        unknown,
    );
    let no_certificate = &flags[..2];
    let wants = "(--etcd-tls-cert and --etcd-tls-key)";
    says(
        serve(folder, port, &metadata, no_certificate),
        &log("wants"),
        wants,
    );

    let mut node = Process::start(&mut serve(folder, port, &metadata, &flags), &log("node"));
    eventually("it serves", Duration::from_secs(30), || {
        assert!(node.is_running(), "{}", node.output());
        client(port, &["keyspace", "create", "birds", "--replicas", "1"]).code == Some(0)
    });
    assert!(
        etcd.ctl(&["get", "--prefix", "", "--keys-only"])
            .ok()
            .contains("dunlin")
    );
    // What is seen of a change by others came over the watch.
    eventually("it is seen", Duration::from_secs(10), || {
        client(port, &["keyspace", "list", "--json"])
            .out
            .contains("birds")
    });
    // A certificate that is renewed counts from the next use on: here the authority changes, too.
    let line = client(port, &["metadata", "show", "--json"]).ok();
    assert!(!line.contains("PRIVATE"), "{line}");
    assert_eq!(node.stop(), Some(0), "{}", node.output());
}

#[test]
fn a_node_asks_etcd_as_a_user() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path();
    let etcd = Etcd::start(folder, &Authority::new());
    etcd.ctl(&["user", "add", "root:open-sesame"]).ok();
    etcd.ctl(&["user", "grant-role", "root", "root"]).ok();
    etcd.ctl(&["auth", "enable"]).ok();
    let (port, metadata) = (ports::row(2), etcd.metadata());
    let password = |text: &str| crate::harness::secure::text(&write(folder, "password", text));
    let flags = |password: String| {
        let user = ["--etcd-user", "root", "--etcd-password-file", &password].map(str::to_owned);
        [etcd.flags(), user.to_vec()].concat()
    };
    let wrong = serve(folder, port, &metadata, &flags(password("shibboleth\n")));
    says(wrong, &folder.join("wrong"), "invalid user ID or password");
    let said = std::fs::read_to_string(folder.join("wrong")).unwrap();
    assert!(!said.contains("shibboleth"), "{said}");

    let right = flags(password("open-sesame\n"));
    let mut node = Process::start(
        &mut serve(folder, port, &metadata, &right),
        &folder.join("node"),
    );
    eventually("it serves", Duration::from_secs(30), || {
        assert!(node.is_running(), "{}", node.output());
        client(port, &["keyspace", "create", "birds", "--replicas", "1"]).code == Some(0)
    });
    let shown = client(port, &["metadata", "show", "--json"]).ok();
    let status = client(port, &["status", "--json"]).ok();
    let printed = run(serve(folder, port, &metadata, &right).arg("--print-config")).ok();
    let line = std::fs::read_to_string(format!("/proc/{}/cmdline", node.id())).unwrap();
    assert_eq!(node.stop(), Some(0), "{}", node.output());
    for text in [shown, status, printed, line, node.output()] {
        assert!(!text.contains("open-sesame"), "{text}");
    }
    let url = run(&mut serve(
        folder,
        port,
        &format!("etcds://root:open-sesame@127.0.0.1:{}", etcd.port),
        &etcd.flags(),
    ));
    let line = url.refused(1);
    assert!(
        line.contains("--etcd-password-file") && !line.contains("open-sesame"),
        "{line}"
    );
}
