#!/usr/bin/env bash
# Installs the Debian packages that are missing, checks for a Rust toolchain, and compiles RocksDB. Changes nothing
# when all is there.
set -euo pipefail
cd "$(dirname "$0")/.."

# What the build needs (a C++ compiler, libclang for RocksDB's bindings, protoc for etcd's messages), what the tests run
# beside Dunlin (etcd, RocksDB's own tools, ip, python3, clocks that are wrong), what the measurements use beside them (fio, rsync, iperf3,
# fonts for their charts), and what the README's examples use.
packages=(build-essential libclang-dev protobuf-compiler libprotobuf-dev etcd-server etcd-client rocksdb-tools iproute2 python3 curl jq openssl faketime fio rsync iperf3 fonts-dejavu-core)

if ! command -v cargo >/dev/null; then
    echo "setup: no Rust toolchain; install one from https://rustup.rs and run this again" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query --show --showformat '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exec scripts/rocksdb.sh
fi

if ! command -v apt-get >/dev/null; then
    echo "setup: this is no Debian; install what these packages hold: ${missing[*]}" >&2
    exit 1
fi
as_root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "setup: not root; run: sudo apt-get install --yes ${missing[*]}" >&2
        exit 1
    fi
    as_root=(sudo -n)
fi
echo "setup: installing ${missing[*]}"
install() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet --no-install-recommends "${missing[@]}"; }
# The package lists may be older than the packages on the mirror.
install || { "${as_root[@]}" apt-get update --quiet && install; }
exec scripts/rocksdb.sh
