#![allow(clippy::unwrap_used)]
use std::fs;
use std::path::Path;
use std::time::SystemTime;

use super::*;

/// The lines of `ceilings.txt` before the first number.
const HEAD: &str = "\
# How high each measure of `crates/tidy` may be. Numbers only fall; the ceiling of all other measures is 0.
# To lower them to what is measured: DUNLIN_TIDY=lower cargo test --release -p dunlin-tidy
";

#[test]
fn the_house_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("ceilings.txt");
    let house = House::read(&root).unwrap_or_else(|e| panic!("{e}"));
    let measures = measure(&house);
    let mut ceilings =
        Ceilings::parse(&fs::read_to_string(&table).unwrap()).unwrap_or_else(|e| panic!("{e}"));
    let is_parsed = is_parsed(&house);
    if is_parsed && std::env::var("DUNLIN_TIDY").is_ok_and(|wish| wish == "lower") {
        ceilings = ceilings.lowered(&measures);
        #[allow(
            clippy::disallowed_methods,
            reason = "the table is in the repository, in no node's data"
        )]
        fs::write(&table, ceilings.text(HEAD)).unwrap();
    }
    let mut problems = ceilings.above(&measures, |file| seconds_since_change(&root.join(file)));
    if is_parsed {
        problems.extend(ceilings.below(&measures));
    }
    assert!(
        problems.is_empty(),
        "{} measures are not as crates/tidy/ceilings.txt says.\n\n{}\n",
        problems.len(),
        problems.join("\n\n")
    );
}

#[allow(
    clippy::disallowed_methods,
    reason = "sorts places in a message, steers nothing"
)]
fn seconds_since_change(path: &Path) -> u64 {
    let changed = fs::metadata(path).and_then(|data| data.modified());
    let age = changed
        .ok()
        .and_then(|changed| SystemTime::now().duration_since(changed).ok());
    age.map_or(u64::MAX, |age| age.as_secs())
}
