#!/usr/bin/env bash
# Builds what `dunlin-bench rivals` measures beside Dunlin and Debian does not have, etcd 3.6 and NATS, in exactly the
# versions of crates/bench/rivals/go.mod, into target/rivals/. Changes nothing when they are there. Without a Go that
# is new enough it says so in one line and leaves them out: nothing else needs them (decision 43).
set -euo pipefail
cd "$(dirname "$0")/.."

module=crates/bench/rivals
target=$PWD/target/rivals
wanted=$(awk '$1 == "go" { print $2; exit }' "$module/go.mod")

skip() {
    echo "rivals: $1; etcd and NATS are left out of the comparison" >&2
    exit 0
}
made_of=$(cat "$module/go.mod" "$module/go.sum")
mkdir -p "$target"
exec 9>"$target/lock"
flock 9
if [ "$(cat "$target/made-of" 2>/dev/null || true)" = "$made_of" ]; then
    exit 0
fi
# Others than were wanted are not compared.
rm -f "$target"/{made-of,etcd,nats-server}

go=$(command -v go || command -v /usr/local/go/bin/go) || skip "no Go on the PATH or in /usr/local/go (https://go.dev/dl, $wanted or newer)"
# What is installed, and no other that it would fetch.
export GOTOOLCHAIN=local GOFLAGS=-mod=readonly GOWORK=off CGO_ENABLED=0
have=$(cd / && "$go" env GOVERSION)
have=${have#go}
[ "$(printf '%s\n' "$wanted" "$have" | sort --version-sort | head -1)" = "$wanted" ] ||
    skip "$go is $have, and they need $wanted or newer"

echo "rivals: building etcd and NATS, about 2 minutes of processor time"
started=$SECONDS
build() { (cd "$module" && "$go" build -trimpath -ldflags='-s -w' -o "$target/$1" "$2"); }
build etcd go.etcd.io/etcd/server/v3
build nats-server github.com/nats-io/nats-server/v2
printf '%s\n' "$made_of" >"$target/made-of"
echo "rivals: done in $((SECONDS - started)) s"
