#!/bin/sh
# Runs test programs (cmocka) and scripts that print TAP, and sums them up: failures and reasons for skips are
# printed, the rest is kept in FE_BUILD/tests/PIECE.log. The last line reads "N passed, N failed, N skipped".
#   tests/run.sh PIECE...    a program, or 'PROGRAM FILTER' in one argument: the tests that cmocka's filter matches
# LIMIT=SECONDS ends a piece that lasts longer, which then has failed.
# Several run at a time: one per 4 cores, and two where there are 2 to 8, since tests also wait. TEST_JOBS=1 runs one
# after the other.
logs=${FE_BUILD:-build}/tests

# The name of a piece's files: program and filter, with _ for what such a name should not have.
name_of() { printf '%s' "${1##*/}" | tr -c 'A-Za-z0-9.-' _; }

# One piece: prints its lines, and keeps its three numbers in NAME.sum.
if [ "$1" = --one ]; then
    program=${2%% *} name=$(name_of "$2") said_as=${2##*/} start=$(date +%s)
    log=$logs/$name.log
    case $2 in
    *.sh) set -- sh "$program" ;;
    *' '*) set -- "$program" "${2#* }" ;;
    *) set -- "$program" ;;
    esac
    CMOCKA_MESSAGE_OUTPUT=TAP ${LIMIT:+timeout -k 10 "$LIMIT"} "$@" >"$log" 2>&1
    code=$?
    case $code in
    124) echo "$said_as: ended after its limit of $LIMIT s" ;;
    137) echo "$said_as: killed${LIMIT:+ after its limit of $LIMIT s, or} for want of memory" ;;
    esac
    skips=$(grep -c '# SKIP' "$log")
    oks=$(grep '^ok ' "$log" | grep -vc '# SKIP')
    fails=$(grep '^not ok ' "$log" | grep -vc '# SKIP')
    # A program that ended before its plan, or by a signal, has failed, whatever it printed.
    plan=$(sed -n 's/^1\.\.\([0-9]*\).*/\1/p' "$log" | awk '{n += $1} END {print n + 0}')
    early=
    if [ "$plan" -ne $((oks + fails + skips)) ] || { [ $code -ne 0 ] && [ "$fails" -eq 0 ]; } || [ "$plan" -eq 0 ]; then
        early="$program: ended with code $code after $((oks + fails + skips)) of $plan tests"
        fails=$((fails + 1))
    fi
    # All at once, so that programs that run at the same time do not mix their lines.
    said=$(
        [ -z "$early" ] || echo "$early"
        [ "$fails" -eq 0 ] || grep -v '^ok ' "$log" | head -60
        [ "$skips" -eq 0 ] || grep -i '^skipped: \|^# skipped' "$log" | sort -u
        printf '%s: %d passed, %d failed, %d skipped (%d s)\n' "$said_as" "$oks" "$fails" "$skips" \
            $(($(date +%s) - start))
    )
    printf '%s\n' "$said"
    echo "$oks $fails $skips" >"$logs/$name.sum"
    exit 0
fi

rm -f "$logs"/*.sum
cores=$(sh "${0%/*}/../packaging/cores.sh")
jobs=$((cores / 4))
[ "$jobs" -ge 2 ] || jobs=$((cores < 2 ? 1 : 2))
jobs=${TEST_JOBS:-$jobs}
# They share the cores, with two threads at least. (Where 18 programs took all of 32 cores each, one that lasts 6 s with
# two threads lasted more than 400.)
threads=$((cores / jobs))
[ $threads -ge 2 ] || threads=2
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$threads}"
# Programs share cores, so a thread that waits for another one leaves its core. (Two of a part of test_validation at once
# on two cores: 64 s where threads spin, 32 s so, 28 s with one thread each.)
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
printf '%s\n' "$@" | xargs -I{} -P "$jobs" sh "$0" --one {}
# A piece without numbers did not even start.
for piece in "$@"; do
    cat "$logs/$(name_of "$piece").sum" 2>/dev/null || echo 0 1 0
done | awk '{passed += $1; failed += $2; skipped += $3}
    END {printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0}'
