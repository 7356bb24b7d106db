#![allow(clippy::unwrap_used, clippy::expect_used)]
use super::*;
use crate::report::samples;

#[test]
fn the_report_has_every_section_with_the_papers_numbers_beside_ours() {
    let text = render(&samples::report(), "quorum");
    for wanted in [
        "# One copy against three (paper 004)",
        "## Targets",
        "## Replicated over unreplicated",
        "## At the paper's rates",
        "## Synced puts",
        "![Latency by percentile](quorum.svg)",
        "12500, 4500: 0.36",
        "12500, 6000: 0.48",
        "1.57 ms",
        "`dunlin-bench quorum`",
        "dunlin 0.1.0 (abc1234-dirty); etcd Version: 3.4.23",
        "2026-11-20 23:50 UTC",
    ] {
        assert!(text.contains(wanted), "{wanted}\n{text}");
    }
    assert!(!text.contains("too short"));
    let mut quick = samples::report();
    quick.quick = true;
    let text = render(&quick, "quorum");
    assert!(text.contains("too short to be quoted"));
}

#[test]
fn json_is_readable_again() {
    let json = serde_json::to_string(&samples::report()).unwrap();
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["cells"][1]["verb"], "PUT");
    assert_eq!(value["cells"][1]["copies"]["from"], 3);
    assert_eq!(value["settings"]["timing"]["run_s"], 10.0);
    assert_eq!(
        value["cells"][0]["summary"]["latency_us_p99"]["median"],
        900.0
    );
}
