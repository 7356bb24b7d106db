#!/usr/bin/env bash
# Checks the licences of all dependencies and that banned crates are not among them. Builds
# cargo-deny once, unoptimised, which takes about three minutes and is fast enough for its work.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.20.2
tools=$PWD/target/tools
if [ "$("$tools/bin/cargo-deny" --version 2>/dev/null || true)" != "cargo-deny $version" ]; then
    CARGO_TARGET_DIR=$tools/build cargo install --quiet --locked --debug --root "$tools" --version "$version" cargo-deny
    rm -rf "$tools/build"
fi
exec "$tools/bin/cargo-deny" --log-level warn check --hide-inclusion-graph licenses bans
