use super::*;
use crate::fixture::measured;

const CODE: (&str, &str) = ("crates/new/src/quorum/write.rs", "");

#[test]
fn paths_in_backticks_exist_whole_or_by_their_end() {
    let fine = "`crates/new/src/quorum/write.rs` `quorum/write.rs` `write.rs` `new/quorum/write.rs` `docs/a.md`";
    assert_eq!(measured(measure, &[CODE, ("docs/a.md", fine)]), [""; 0]);
    let gone = "`quorum/read.rs` `rite.rs`\n\n```sh\ncat other.rs\n```\n";
    assert_eq!(
        measured(measure, &[CODE, ("docs/a.md", gone)]),
        ["doc-paths docs/a.md 2"]
    );
}

#[test]
fn code_that_is_no_path_of_the_repository_is_ignored() {
    let text = "`/etc/dunlin/dunlin.toml` `ack=2` `/v1/keyspaces` `node/*.rs` `{a,b}.rs` `etcd/`";
    assert_eq!(measured(measure, &[("docs/a.md", text)]), [""; 0]);
}

#[test]
fn links_lead_somewhere() {
    let text = "[a](../README.md) [b](#part) [c](b.md#part) [d](https://example.org/x) [e](../crates/new/src)";
    let files = [
        ("docs/a.md", text),
        ("docs/b.md", ""),
        ("README.md", ""),
        ("crates/new/src/lib.rs", ""),
    ];
    assert_eq!(measured(measure, &files), ["doc-links docs/a.md 1"]);
    assert_eq!(
        measured(measure, &[("docs/a.md", "[a](b.md)")]),
        ["doc-links docs/a.md 1"]
    );
}

#[test]
fn a_decision_has_a_status_and_a_line_in_the_index() {
    let good = ("docs/decisions/0001-a.md", "# 1. A\nStatus: accepted\n");
    let old = (
        "docs/decisions/0002-b.md",
        "# 2. B\nStatus: superseded by [1](0001-a.md)\n",
    );
    let index = ("docs/decisions/README.md", "| [1](0001-a.md) |\n");
    assert_eq!(
        measured(measure, &[good, old, index]),
        ["decision-index 0002-b.md 1"]
    );
    let without = ("docs/decisions/0001-a.md", "# 1. A\nStatus: fine\n");
    assert_eq!(
        measured(measure, &[without, index]),
        ["decision-status 0001-a.md 1"]
    );
}
