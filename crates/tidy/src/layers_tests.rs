use super::*;
use crate::fixture::measured;

fn of(name: &str, manifest: &str) -> Vec<String> {
    let path = format!("crates/{name}/Cargo.toml");
    let mut keys = measured(measure, &[(&path, manifest)]);
    // The crate that the fixture brings.
    keys.retain(|key| key != "layers new 1");
    keys
}

#[test]
fn a_crate_that_uses_what_its_layer_allows_is_fine() {
    let manifest = "[dependencies]\ndunlin-entry.workspace = true\nbytes.workspace = true\n";
    assert_eq!(of("store", manifest), [""; 0]);
}

#[test]
fn a_crate_that_uses_one_above_it_is_not() {
    let manifest = "[dependencies]\ndunlin-entry.workspace = true\ndunlin-node.workspace = true\n";
    assert_eq!(of("store", manifest), ["layers store uses node 1"]);
    let manifest = "[dependencies]\ndunlin-entry.workspace = true\n[dev-dependencies]\ndunlin-log.workspace = true\n";
    assert_eq!(of("store", manifest), ["layers store uses log 1"]);
}

#[test]
fn what_is_for_tests_alone_is_not_for_code() {
    let both = "dunlin-entry.workspace = true\ndunlin-proto.workspace = true\n";
    let history = "dunlin-history.workspace = true\n";
    assert_eq!(
        of(
            "txn",
            &format!("[dependencies]\n{both}[dev-dependencies]\n{history}")
        ),
        [""; 0]
    );
    assert_eq!(
        of("txn", &format!("[dependencies]\n{both}{history}")),
        ["layers txn uses history 1"]
    );
}

#[test]
fn the_table_allows_no_more_than_is_used() {
    assert_eq!(
        of("store", "[dependencies]\n"),
        ["layers store may use entry 1"]
    );
}

#[test]
fn a_new_crate_needs_a_layer() {
    assert_eq!(measured(measure, &[]), ["layers new 1"]);
}

#[test]
fn what_a_crate_may_use_stands_above_it() {
    for (at, (name, uses, tests)) in LAYERS.iter().enumerate() {
        for used in uses.iter().chain(*tests) {
            let is_above = LAYERS[..at].iter().any(|(above, ..)| above == used);
            assert!(is_above || *name == "fuzz", "{name} uses {used}");
        }
    }
}
