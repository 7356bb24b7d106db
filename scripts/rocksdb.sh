#!/usr/bin/env bash
# Compiles RocksDB, the sources that the crate librocksdb-sys brings, into target/rocksdb/librocksdb.a, where
# .cargo/config.toml lets that crate find it. Changes nothing when it is there.
#
# Several sources are one compilation each ("unity build"): four fifths of the time the crate takes with one by one go
# into reading the same headers 343 times. RocksDB's own Makefile builds and tests all of them as one (decision 30).
set -euo pipefail
cd "$(dirname "$0")/.."

# Of a gigabyte and more of memory for each compilation, and enough of them to keep all processors busy.
SOURCES_EACH=14
target=target/rocksdb
cxx=${CXX:-g++}

flags=(-std=c++20 -O2 -fPIC -ffunction-sections -fdata-sections -w -include cstdint
    -DNDEBUG -DBZIP2 -DLZ4 -DSNAPPY -DZLIB -DZSTD -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION
    -DOS_LINUX -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX
    -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT)
# For checksums. `dunlin` looks for these before it does anything (crates/cli/src/processor.rs).
case $(uname -m) in
x86_64) flags+=(-march=x86-64-v2 -mpclmul) ;;
aarch64) flags+=(-march=armv8-a+crc+crypto) ;;
esac

metadata=$(cargo metadata --format-version 1 --locked)
directory_of() {
    jq --exit-status --raw-output --arg name "$1" \
        '.packages[] | select(.name == $name) | .manifest_path | sub("/Cargo.toml$"; "")' <<<"$metadata"
}
sources=$(directory_of librocksdb-sys)
lz4=$(directory_of lz4-sys)
zstd=$(directory_of zstd-sys)
zlib=$(directory_of libz-sys)
bzip2=$(directory_of bzip2-sys)

made_of=$(printf '%s\n' "$("$cxx" --version | head -1)" "${sources##*/}" "$SOURCES_EACH" "${flags[*]}")
mkdir -p "$target"
exec 9>"$target/lock"
flock 9
if [ -f "$target/librocksdb.a" ] && [ "$(cat "$target/made-of" 2>/dev/null || true)" = "$made_of" ]; then
    exit 0
fi

# What was compiled before an interruption is taken.
parts=$target/parts
if [ "$(cat "$parts/made-of" 2>/dev/null || true)" != "$made_of" ]; then
    rm -rf "$parts"
    mkdir "$parts"
    grep -v '^util/build_version.cc$' "$sources/rocksdb_lib_sources.txt" |
        awk -v each="$SOURCES_EACH" -v parts="$parts" '
            { print "#include \"" $0 "\"" > sprintf("%s/%02d.cc", parts, (NR - 1) / each) }'
    echo '#include "build_version.cc"' >"$parts/version.cc"
    printf '%s\n' "$made_of" >"$parts/made-of"
fi

compile=("$cxx" "${flags[@]}" -I"$sources" -I"$sources/rocksdb" -I"$sources/rocksdb/include" -I"$sources/snappy"
    -I"$lz4/liblz4/lib" -I"$zstd/zstd/lib" -I"$zlib/src/zlib" -I"$(echo "$bzip2"/bzip2-*)")
one() {
    local object=${1%.cc}.o
    [ -f "$object" ] && return
    "${@:2}" -c "$1" -o "$object.new"
    mv "$object.new" "$object"
}
export -f one
echo "rocksdb: compiling ${sources##*/}, about 7 minutes of processor time"
started=$SECONDS
find "$parts" -name '*.cc' | sort | xargs -P "$(nproc)" -I{} bash -ec 'one "$@"' - {} "${compile[@]}"
ar crs "$parts/librocksdb.a" "$parts"/*.o
mv "$parts/librocksdb.a" "$target/librocksdb.a"
mv "$parts/made-of" "$target/made-of"
rm -rf "$parts"
# Cargo keeps a copy of the library of before in its own.
cargo clean --quiet --release --package librocksdb-sys 2>/dev/null || true
echo "rocksdb: done in $((SECONDS - started)) s"
