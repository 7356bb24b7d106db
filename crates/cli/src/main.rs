//! The `dunlin` command; see the library of the same crate.

fn main() -> std::process::ExitCode {
    dunlin_cli::panics::end_the_process();
    dunlin_cli::run(std::env::args_os())
}
