#!/usr/bin/env bash
# Everything that must hold before a change is done. All steps run even when one fails; the last
# line is "N passed, N failed", and the exit code is not 0 when any step failed.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=target/test-logs
mkdir -p "$logs"
failed_steps=()

step() {
    local name=$1
    shift
    echo "== $name: $*"
    if ! "$@" 2>&1 | tee "$logs/$name.log"; then
        failed_steps+=("$name")
    fi
}

# Without these nothing else could say anything true.
scripts/setup.sh || { echo "0 passed, 1 failed (setup)"; exit 1; }
scripts/promtool.sh || { echo "0 passed, 1 failed (promtool)"; exit 1; }

step format cargo fmt --all --check
step clippy cargo clippy --release --workspace --all-targets -- -D warnings
step doc env RUSTDOCFLAGS="-D warnings" cargo doc --release --workspace --no-deps
step deny scripts/deny.sh
step tests cargo test --release --workspace --no-fail-fast
step simulation scripts/sim.sh --seeds 20
step fuzz-lint scripts/fuzz.sh lint
step fuzz scripts/fuzz.sh

# cargo prints one "test result" line for each test binary.
read -r passed failed < <(awk '
    /^test result: / {
        for (i = 2; i <= NF; i++) {
            if ($i == "passed;") passed += $(i - 1)
            if ($i == "failed;") failed += $(i - 1)
        }
    }
    END { print passed + 0, failed + 0 }' "$logs/tests.log")

if [ "$passed" -eq 0 ]; then
    failed_steps+=("no test ran")
fi
if [ ${#failed_steps[@]} -gt 0 ]; then
    printf -v list '%s, ' "${failed_steps[@]}"
    echo "failed steps: ${list%, }"
    echo "$passed passed, $failed failed"
    exit 1
fi
echo "$passed passed, $failed failed"
