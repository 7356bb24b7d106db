# Steps of scripts/test.sh and scripts/trials.sh, which read this file.

logs=target/test-logs
mkdir -p "$logs"
failed_steps=()
tests_logs=()

# step NAME COMMAND...: runs it, and keeps what it says in target/test-logs/NAME.log.
step() {
    local name=$1 begun=$SECONDS
    shift
    echo "== $name: $*"
    if ! "$@" 2>&1 | tee "$logs/$name.log"; then
        failed_steps+=("$name")
    fi
    tests_logs+=("$logs/$name.log")
    echo "== $name: $((SECONDS - begun)) s"
}

# Counts tests over all steps, says which steps failed, and ends the script.
finish() {
    # cargo prints one "test result" line for each test binary.
    read -r passed failed < <(awk '
        /^test result: / {
            for (i = 2; i <= NF; i++) {
                if ($i == "passed;") passed += $(i - 1)
                if ($i == "failed;") failed += $(i - 1)
            }
        }
        END { print passed + 0, failed + 0 }' "${tests_logs[@]}")
    if [ "$passed" -eq 0 ] && [ "${needs_tests:-yes}" = yes ]; then
        failed_steps+=("no test ran")
    fi
    if [ ${#failed_steps[@]} -gt 0 ]; then
        printf -v list '%s, ' "${failed_steps[@]}"
        echo "failed steps: ${list%, }"
        echo "$passed passed, $failed failed"
        exit 1
    fi
    echo "$passed passed, $failed failed"
}
