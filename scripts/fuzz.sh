#!/usr/bin/env bash
# Fuzzes the readers of bytes that were written elsewhere: every target of fuzz/ for SECONDS
# (default 15), guided by coverage, with the stable compiler. Builds into target/fuzz, which takes
# about three minutes the first time.
#   scripts/fuzz.sh [SECONDS]        all targets
#   scripts/fuzz.sh TARGET FILE...   runs inputs again, as the last line of a failure says
#   scripts/fuzz.sh seeds [WAL...]   makes the seed corpus anew
#   scripts/fuzz.sh lint             formats and lints
# What was found is kept in target/fuzz/corpus, inputs that fail in target/fuzz/crashes.
set -euo pipefail
cd "$(dirname "$0")/.."

targets=(block batch recover mutate inspect frame message preamble token)
host=$(rustc -vV | sed -n 's/^host: //p')
binaries=target/fuzz/$host/release

if [ "${1:-}" = seeds ]; then
    shift
    exec cargo run --release --quiet --manifest-path fuzz/Cargo.toml --target-dir target/fuzz \
        --example seeds -- fuzz/corpus "$@"
fi

# What cargo-fuzz gives the compiler when it is asked for no sanitizer. The stable compiler takes
# all of it; build scripts get none of it, because the target is named.
coverage=(-Cpasses=sancov-module
    -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
    -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares)

export RUSTFLAGS="${coverage[*]}"
build=(--release --quiet --locked --manifest-path fuzz/Cargo.toml --target "$host" --target-dir target/fuzz)

if [ "${1:-}" = lint ]; then
    cargo fmt --manifest-path fuzz/Cargo.toml --check
    exec cargo clippy "${build[@]}" --all-targets -- -D warnings
fi
cargo build "${build[@]}" --bins

if [ $# -gt 1 ]; then
    target=$1
    shift
    RUST_BACKTRACE=1 exec "$binaries/$target" "$@"
fi

seconds=${1:-15}
crashes=target/fuzz/crashes
mkdir -p "$crashes"
failed=()
for target in "${targets[@]}"; do
    found=target/fuzz/corpus/$target
    log=target/fuzz/$target.log
    mkdir -p "$found"
    # A second of silence is a bug; memory is counted by the targets, this is for the rest.
    if RUST_BACKTRACE=1 "$binaries/$target" "$found" "fuzz/corpus/$target" -max_total_time="$seconds" -max_len=65536 \
        -timeout=20 -rss_limit_mb=1500 -artifact_prefix="$crashes/$target-" -print_final_stats=1 \
        >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        covered=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
        echo "$target: fine, ${runs:-0} runs, ${covered:-0} edges"
    else
        failed+=("$target")
        tail -25 "$log"
        kept=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        echo "$target: failed; again: scripts/fuzz.sh $target ${kept:-"(no input kept; see $log)"}"
    fi
done
[ ${#failed[@]} -eq 0 ]
