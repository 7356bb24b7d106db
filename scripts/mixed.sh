#!/usr/bin/env bash
# Builds the version before this one, and runs clusters of nodes of both: a rolling upgrade under
# load, and one beside the other with kills. BEFORE=commit chooses another version.
# Not part of `make test`: the build takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

# The last version whose data and messages this one must take.
before=${BEFORE:-509c024}

if ! git cat-file -e "$before^{commit}" 2>/dev/null; then
    echo "mixed: this clone has no commit $before; fetch it (git fetch --unshallow), or name another with BEFORE=commit" >&2
    exit 1
fi
commit=$(git rev-parse --short=12 "$before^{commit}")
target=${CARGO_TARGET_DIR:-$PWD/target}
mkdir -p "$target/mixed"
target=$(cd "$target" && pwd)
program=$target/mixed/dunlin-$commit

if [ ! -x "$program" ]; then
    cargo build --release -p dunlin-cli
    work=$target/mixed/work-$$
    tree=$work/tree
    trap 'git worktree remove --force "$tree" 2>/dev/null || true; rm -rf "$work"; git worktree prune' EXIT
    mkdir -p "$work/target/release"
    git worktree add --quiet --detach "$tree" "$commit"
    # What others wrote is compiled already, RocksDB above all. Our own crates are not taken along: to
    # cargo those of two trees in one directory are the same.
    (cd "$target/release" && tar --format=posix --exclude='*dunlin*' -cf - build deps .fingerprint) |
        tar -xf - -C "$work/target/release"
    (cd "$tree" && CARGO_TARGET_DIR=$work/target cargo build --release -p dunlin-cli)
    cp "$work/target/release/dunlin" "$program.new"
    mv "$program.new" "$program"
fi
echo "mixed: $("$program" --version) of $commit beside this tree"
DUNLIN_BUILD_BEFORE=$program cargo test --release -p dunlin-cli --test trials mixed -- --nocapture --test-threads 1
