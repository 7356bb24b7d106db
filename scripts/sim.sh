#!/usr/bin/env bash
# Simulates clusters, one on each processor: --seeds N for so many, --seed N --trace to replay one. Fails when a promise
# is broken, and prints the seed that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

exec cargo run --release --quiet -p dunlin-sim -- "$@"
