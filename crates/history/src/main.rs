//! `dunlin-history`: judges a history in a file.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use dunlin_history::{Limits, check, from_lines};

/// Tells whether a history (a JSON object a line, see docs/formats.md, History) is linearizable.
///
/// Exit codes: 0 linearizable, 1 not, 2 no history, 3 undecided within the limit.
#[derive(Parser)]
#[command(name = "dunlin-history")]
struct Options {
    /// The file, or - for standard input.
    file: PathBuf,
    /// Configurations to look at for each key before it is left undecided.
    #[arg(long, default_value_t = Limits::default().states)]
    states: u64,
}

fn main() -> ExitCode {
    let options = Options::parse();
    let text = match read(&options.file) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("dunlin-history: {}: {error}", options.file.display());
            return ExitCode::from(2);
        }
    };
    let operations = match from_lines(&text) {
        Ok(operations) => operations,
        Err(error) => {
            eprintln!("dunlin-history: {}: {error}", options.file.display());
            return ExitCode::from(2);
        }
    };
    let states = options.states;
    let report = check(&operations, Limits { states });
    // The exit code says it all where nobody reads.
    let _ = writeln!(std::io::stdout(), "{report}");
    match (report.violations.is_empty(), report.undecided.is_empty()) {
        (false, _) => ExitCode::from(1),
        (true, false) => ExitCode::from(3),
        (true, true) => ExitCode::SUCCESS,
    }
}

fn read(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}
