#![allow(clippy::unwrap_used)]
use super::*;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    recover: Recover,
}

fn text(arguments: &[&str], left: &RangeRemains) -> String {
    let line = ["x", "bank", "0"].iter().chain(arguments);
    Line::try_parse_from(line)
        .unwrap()
        .recover
        .text(left, false)
}

fn left(keep: Option<&str>) -> RangeRemains {
    let replica = |at: &str, state: &str, last| LeftReplica {
        at: at.to_owned(),
        state: state.to_owned(),
        term: 7,
        last,
        ..LeftReplica::default()
    };
    RangeRemains {
        replicas: vec![
            replica("n1/0", "voter", 1_900),
            replica("n3/0", "silent", 9),
        ],
        keep: keep.map(str::to_owned),
        refused: None,
    }
}

#[test]
fn a_dry_run_shows_what_is_left_and_what_to_do() {
    let output = text(&[], &left(Some("n1")));
    assert!(
        output.contains("n1/0     voter      7       1,900"),
        "{output}"
    );
    assert!(output.contains("Nothing was changed"), "{output}");
    assert!(output.contains("--keep n1 --accept-data-loss"), "{output}");
    let other = text(&["--keep", "n3"], &left(Some("n1")));
    assert!(other.contains("The replica on n1 has the most"), "{other}");
    assert!(other.contains("--keep n3 --accept-data-loss"), "{other}");
    let none = text(&[], &RangeRemains::default());
    assert!(
        none.starts_with("No replica of bank/0 with data is left"),
        "{none}"
    );
    let why = "n2/0 does not say what it holds".to_owned();
    let refused = RangeRemains {
        refused: Some(why),
        ..left(Some("n1"))
    };
    let output = text(&[], &refused);
    assert!(output.ends_with("cannot be recovered now: n2/0 does not say what it holds\n"));
}

#[test]
fn a_node_is_kept_or_nothing_is() {
    assert!(Line::try_parse_from(["x", "bank", "0", "--keep", "n1", "--new"]).is_err());
}
