//! log check and repair: a whole log, a damaged one, one in use, and none.

use std::path::Path;

use crate::log_data::data_with_log;
use crate::support::run;

fn damage(directory: &Path, offset: usize) {
    let file = directory.join("00000000000000000001.log");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[offset] ^= 1;
    std::fs::write(&file, bytes).unwrap();
}

#[test]
fn a_whole_log_is_counted_and_left_alone() {
    let (home, directory) = data_with_log(100);
    for place in [home.path(), &directory] {
        let json = run(&["log", "check", "--json", place.to_str().unwrap()])
            .ok()
            .json();
        assert_eq!(json["damaged"], false);
        assert_eq!(json["segments"][0]["records"], 101);
        let text = run(&["log", "check", place.to_str().unwrap()]).ok();
        assert!(
            text.text().contains("1 segments, 101 records"),
            "{}",
            text.text()
        );
    }
    let before = std::fs::read(directory.join("00000000000000000001.log")).unwrap();
    let repaired = run(&["log", "repair", home.path().to_str().unwrap()]).ok();
    assert!(repaired.text().contains("no damage, nothing done"));
    assert_eq!(
        std::fs::read(directory.join("00000000000000000001.log")).unwrap(),
        before
    );
}

#[test]
fn damage_is_named_then_cut_and_what_was_cut_is_kept() {
    let (home, directory) = data_with_log(100);
    damage(&directory, 1000);
    let path = home.path().to_str().unwrap();
    let ended = run(&["log", "check", path]);
    assert!(
        ended.complaint(1).starts_with("damaged: "),
        "{}",
        ended.stderr
    );
    assert!(
        ended.text().contains("00000000000000000001.log at byte ")
            && ended.text().contains(": damage: ")
    );
    let json = run(&["log", "check", "--json", path]).json();
    let offset = json["segments"][0]["trouble"]["offset"].as_u64().unwrap();
    assert!((900..=1000).contains(&offset), "{json}");

    let repaired = run(&["log", "repair", "--json", path]).ok().json();
    assert_eq!(repaired["repaired"], true);
    assert!(
        directory
            .join(repaired["kept"][0].as_str().unwrap())
            .is_file()
    );
    let json = run(&["log", "check", "--json", path]).ok().json();
    let records = json["segments"][0]["records"].as_u64().unwrap();
    assert!((20..101).contains(&records), "{json}");
}

#[test]
fn a_log_in_use_is_not_repaired() {
    let (home, directory) = data_with_log(10);
    damage(&directory, 100);
    let lock = std::fs::File::open(home.path().join("dunlin.lock")).unwrap();
    lock.lock().unwrap();
    for place in [home.path(), &directory] {
        let ended = run(&["log", "repair", place.to_str().unwrap()]);
        assert!(
            ended.complaint(1).contains("in use by another dunlin"),
            "{}",
            ended.stderr
        );
    }
    drop(lock);
    run(&["log", "repair", directory.to_str().unwrap()]).ok();
}

#[test]
fn a_directory_of_no_log_is_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for verb in ["check", "repair"] {
        let ended = run(&["log", verb, path]);
        assert_eq!(ended.complaint(3), format!("no log in {path}"));
    }
    let ended = run(&["log", "check", "/nonexistent"]);
    assert!(ended.complaint(1).starts_with("/nonexistent: "));
}
