#!/usr/bin/env bash
# Simulates clusters, one for each of $1 seeds; fails at the first that breaks a promise and
# prints the seed that replays it.
set -euo pipefail
cd "$(dirname "$0")/.."

exec cargo run --release --quiet -p dunlin-sim -- --seeds "${1:?how many seeds}"
