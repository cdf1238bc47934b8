#!/bin/sh
# Runs test programs (cmocka) and scripts that print TAP, and sums them up: failures and reasons for skips are
# printed, the rest is kept in FE_BUILD/tests/NAME.log. The last line reads "N passed, N failed, N skipped".
#   tests/run.sh PROGRAM...
passed=0 failed=0 skipped=0 status=0
for program in "$@"; do
    log=${FE_BUILD:-build}/tests/$(basename "$program").log
    start=$(date +%s)
    case $program in
    *.sh) sh "$program" >"$log" 2>&1 ;;
    *) CMOCKA_MESSAGE_OUTPUT=TAP "$program" >"$log" 2>&1 ;;
    esac
    code=$?
    skips=$(grep -c '# SKIP' "$log")
    oks=$(grep '^ok ' "$log" | grep -vc '# SKIP')
    fails=$(grep '^not ok ' "$log" | grep -vc '# SKIP')
    # A program that ended before its plan, or by a signal, has failed, whatever it printed.
    plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
    if [ "$plan" -ne $((oks + fails + skips)) ] || { [ $code -ne 0 ] && [ "$fails" -eq 0 ]; } || [ "$plan" -eq 0 ]; then
        fails=$((fails + 1))
        echo "$program: ended with code $code after $((oks + fails + skips - 1)) of $plan tests"
    fi
    [ "$fails" -eq 0 ] || grep -v '^ok ' "$log" | head -60
    [ "$skips" -eq 0 ] || grep -i '^skipped: \|^# skipped' "$log" | sort -u
    printf '%s: %d passed, %d failed, %d skipped (%d s)\n' "$(basename "$program")" "$oks" "$fails" "$skips" \
        $(($(date +%s) - start))
    passed=$((passed + oks)) failed=$((failed + fails)) skipped=$((skipped + skips))
done
[ $failed -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit $status
