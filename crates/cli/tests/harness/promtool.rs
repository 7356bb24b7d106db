//! Prometheus' tool that checks metrics and alert rules, as `scripts/promtool.sh` gets it.

use std::path::PathBuf;

pub fn promtool() -> PathBuf {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let path = PathBuf::from(root).join("target/tools/bin/promtool");
    assert!(
        path.exists(),
        "no {}: run scripts/promtool.sh",
        path.display()
    );
    path
}
