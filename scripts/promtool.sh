#!/usr/bin/env bash
# Takes promtool, which checks metrics and alert rules, out of Debian's package `prometheus` into
# target/tools/bin. The package itself is not installed: it would start a server.
set -euo pipefail
cd "$(dirname "$0")/.."

bin=target/tools/bin
! [ -x "$bin/promtool" ] || exit 0
mkdir -p "$bin"
if installed=$(command -v promtool); then
    ln -s "$installed" "$bin/promtool"
    exit 0
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# apt reads with a user of its own.
chmod 755 "$scratch"
fetch() { (cd "$scratch" && apt-get download --quiet prometheus); }
as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
# The package lists may be older than the packages on the mirror.
fetch || { "${as_root[@]}" apt-get update --quiet && fetch; }
dpkg-deb --fsys-tarfile "$scratch"/prometheus_*.deb | tar --extract --directory "$scratch" ./usr/bin/promtool
mv "$scratch/usr/bin/promtool" "$bin/promtool"
