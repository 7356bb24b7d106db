//! The whole of `dunlin-bench shards`, very small: what is measured and written. Not times.

use std::path::Path;

use clap::Parser;
use dunlin_bench::interrupt::Interrupt;
use dunlin_bench::options::{Options, ShardsOptions, Table};
use dunlin_bench::shards::{self, report};

fn options(dunlin: &Path, data: &Path) -> ShardsOptions {
    let (dunlin, data) = (dunlin.display().to_string(), data.display().to_string());
    let fixed = ["dunlin-bench", "shards", "--quick", "--connections", "4"];
    let all = fixed
        .into_iter()
        .chain(["--dunlin", &dunlin, "--data-dir", &data]);
    match Options::parse_from(all).table {
        Table::Shards(options) => options,
        _ => panic!("another table"),
    }
}

#[test]
fn every_number_of_shards_is_measured_and_reported() {
    let dunlin = Path::new(env!("CARGO_BIN_EXE_dunlin-bench")).with_file_name("dunlin");
    if !dunlin.is_file() {
        // A build of this package alone has none.
        eprintln!("skipped: no {}", dunlin.display());
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let options = options(&dunlin, data.path());
    let report = shards::run(&options, &Interrupt::default(), "now", "test").unwrap();
    assert_eq!(data.path().read_dir().unwrap().count(), 0, "nothing stays");
    let shards: Vec<u16> = report.cells.iter().map(|cell| cell.case.shards).collect();
    assert_eq!(shards, [1, 2].repeat(4));
    for cell in &report.cells {
        let [run] = cell.runs.as_slice() else {
            panic!("{:?}: {} runs", cell.case, cell.runs.len());
        };
        assert!(run.rate_per_s > 0.0, "{:?}", cell.case);
    }
    let out = tempfile::tempdir().unwrap();
    let written = report::write(&report, out.path()).unwrap();
    assert_eq!(written, ["shards.json", "shards.md"]);
    let text = std::fs::read_to_string(out.path().join("shards.md")).unwrap();
    assert_eq!(text.matches("| always, PUT, 4").count(), 2, "{text}");
}
