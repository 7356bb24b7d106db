#!/usr/bin/env bash
# What takes minutes, many processes or a quiet machine, one test at a time, so one cluster at a time.
#   scripts/trials.sh          everything: tests, licences, fuzzers
#   scripts/trials.sh NAME     tests whose path contains NAME ("moves", "moves::kills"), or `deny`, or `fuzz`
# The last line is "N passed, N failed", and the exit code is not 0 when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."

. scripts/steps.sh

name=${1:-}
scripts/setup.sh || { echo "0 passed, 1 failed (setup)"; exit 1; }
scripts/promtool.sh || { echo "0 passed, 1 failed (promtool)"; exit 1; }

if [ -z "$name" ] || [ "$name" = deny ]; then
    step deny scripts/deny.sh
fi
if [ -z "$name" ] || [ "$name" = fuzz ]; then
    step fuzz-lint scripts/fuzz.sh lint
    step fuzz scripts/fuzz.sh
fi
case $name in
deny | fuzz) needs_tests=no ;;
*)
    # The benchmarks' tests measure a stand-in for the store.
    step stand-in cargo build --release --workspace --example stand_in
    step trials env RUST_TEST_THREADS=1 cargo test --release --workspace --no-fail-fast --test trials -- $name
    ;;
esac
finish
