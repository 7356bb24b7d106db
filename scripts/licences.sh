#!/usr/bin/env bash
# Prints the licences of all libraries that the dunlin binary contains: which library is under
# which, and each text once. Reads what cargo has fetched for the build; fetches nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

host=$(rustc -vV | sed -n 's/^host: //p')
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Where each library of the binary lies: those of the tests and of the build alone are left out.
cargo tree --offline --locked --package dunlin-cli --edges normal --target "$host" --prefix none --format '{p}' |
    sed 's/ (.*//; s/ v/ /' | sort -u >"$work/used"
cargo metadata --offline --locked --format-version 1 --filter-platform "$host" |
    jq -r '.packages[] | select(.source) | [.name, .version, .license // "see its text", .manifest_path] | @tsv' |
    sort >"$work/all"

echo "Libraries"
mkdir "$work/texts"
while IFS=$'\t' read -r name version licence manifest; do
    grep -qxF "$name $version" "$work/used" || continue
    echo "  $name $version: $licence"
    # Libraries in C lie deeper: librocksdb-sys/rocksdb, lz4-sys/liblz4/lib. The programs, tests and
    # examples beside them have licences of their own, and are not in the binary.
    find "$(dirname "$manifest")" -maxdepth 3 \( -name tests -o -name examples -o -name programs \) -prune -o -type f \
        \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'unlicense*' \) -size -200k -print | sort |
        while read -r text; do
            sum=$(sha256sum <"$text" | cut -c 1-64)
            cp "$text" "$work/texts/$sum"
            echo "$name $version, ${text#"$(dirname "$manifest")"/}" >>"$work/texts/$sum.of"
        done
done <"$work/all"
for of in "$work"/texts/*.of; do
    printf '\n%s\n' "$(printf '=%.0s' {1..80})"
    cat "$of"
    echo
    cat "${of%.of}"
done
