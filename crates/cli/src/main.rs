//! The `dunlin` command; see the library of the same crate.

/// The allocator of the whole program, RocksDB included; its settings are in `.cargo/config.toml` (decision 67).
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> std::process::ExitCode {
    dunlin_cli::panics::end_the_process();
    dunlin_cli::run(std::env::args_os())
}
