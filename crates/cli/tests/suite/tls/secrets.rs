//! A private key stays where it is, whatever is logged, asked or printed.

use crate::harness::authority::write;
use crate::harness::child::dunlin;
use crate::harness::eventually;
use crate::harness::secure::{Secure, run, text};

#[test]
fn no_key_is_told() {
    let mut node = Secure::mutual();
    let folder = node.folder().to_owned();
    let keys: Vec<String> = ["server.key", "client.key"]
        .map(|name| std::fs::read_to_string(folder.join(name)).unwrap())
        .to_vec();
    // Of a key that is cut off, too.
    let cut = &keys[0][..keys[0].len() / 2];
    write(&folder, "server.key", cut);
    eventually("it is seen", std::time::Duration::from_secs(15), || {
        node.process
            .output()
            .contains("those of before stay in use")
    });
    let broken = write(&folder, "broken.key", cut);
    let said = [
        node.get("/v1/status").ok(),
        node.get("/metrics").ok(),
        node.get("/v1/metadata").ok(),
        node.dunlin(&[
            "status",
            "--tls-cert",
            &text(&folder.join("server.pem")),
            "--tls-key",
            &text(&broken),
        ])
        .refused(2),
        run(dunlin().args(["serve", "--help"])).ok(),
        {
            let mut serve = dunlin();
            serve.args([
                "serve",
                "--name",
                "n",
                "--metadata",
                "embedded",
                "--data",
                "d",
                "--print-config",
            ]);
            serve.arg("--http-tls-cert").arg(folder.join("server.pem"));
            run(serve.arg("--http-tls-key").arg(folder.join("server.key"))).ok()
        },
    ];
    node.process.stop();
    let output = node.process.output();
    assert!(
        output.contains("TRACE") || output.contains("DEBUG"),
        "{output}"
    );
    for key in &keys {
        for line in key.lines().filter(|line| !line.starts_with("---")) {
            let part = &line[..line.len().min(24)];
            for text in said.iter().chain([&output]) {
                assert!(!text.contains(part), "{text}");
            }
        }
    }
}
