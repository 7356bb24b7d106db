#!/usr/bin/env bash
# What must hold before a change is done: fast, and the same each time. scripts/trials.sh has the rest. All steps run
# even when one fails; the last line is "N passed, N failed", and the exit code is not 0 when any step failed.
set -uo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh

# Without these nothing else could say anything true.
scripts/setup.sh || { echo "0 passed, 1 failed (setup)"; exit 1; }
scripts/promtool.sh || { echo "0 passed, 1 failed (promtool)"; exit 1; }

# Tests of properties draw the same cases each time; another seed draws others.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-1}
# Tests with processes wait more than they compute.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

step format cargo fmt --all --check
step clippy cargo clippy --profile fast --workspace --all-targets -- -D warnings
step doc env RUSTDOCFLAGS="-D warnings" cargo doc --profile fast --workspace --no-deps
all=(--profile fast --workspace --no-fail-fast)
tests=("${all[@]}" --lib --bins --test suite --test descriptors)
step build cargo test "${tests[@]}" --no-run --timings
step tests cargo test "${tests[@]}"
step examples cargo test "${all[@]}" --doc
finish
