#!/bin/sh
# Sweeps the program kernels over backends, elements and sizes that suit this machine, and leaves rows, samples,
# a table and figures in RESULTS/MACHINE/DATE-COMMIT/ (results/README.md describes them). Run again after an
# interruption: finished points are kept.
#
#   sh bench/sweep.sh       from the root of the repository; make bench does it after building
#
# Environment (make bench takes the same names as arguments), with defaults:
#   BUILD=build             where kernels is
#   RESULTS=results         where the machine's folder is
#   FULL=                   1: all sizes, node orders, shares of plastic elements, redundant element forms
#   BACKENDS="host cuda"    those that are there
#   ELEMENTS="tet4 hex8"
#   VARIANTS=               strategies, all; kernels --fe_list prints them
#   SIZES_host= SIZES_cuda= degrees of freedom, "25000 100000"
#   THREADS=                of the host backend, all cores
#
# A point is one call of kernels: all variants and operations on one backend, element and size, checked first and
# then timed in turns. Its files in scratch/ get their final names when it is complete.
set -eu
export LC_ALL=C

BUILD=${BUILD:-build} FULL=${FULL:-} RESULTS=${RESULTS:-results} KERNELS=$BUILD/kernels
ELEMENTS=${ELEMENTS:-tet4 hex8} VARIANTS=${VARIANTS:-} THREADS=${THREADS:-}
REPETITIONS=15 # the interval is then the 4th to the 12th sample
case $FULL in 0 | no) FULL= ;; esac

fail() { echo "bench: $*" >&2; exit 1; }
test -x "$KERNELS" || fail "$KERNELS is not there: make info says what it needs"
variants=$(echo $VARIANTS | tr ' ' ',')
n_variant=$("$KERNELS" --fe_list | wc -l)
[ -z "$VARIANTS" ] || n_variant=$(echo $VARIANTS | wc -w)
machine=$("$KERNELS" --fe_slug)
commit=$("$KERNELS" --version | sed -n 's/^febench //p')
gpu=; if "$KERNELS" --fe_backend=cuda --fe_slug >/dev/null 2>&1; then gpu=yes; fi
BACKENDS=${BACKENDS:-host${gpu:+ cuda}}

# --- the folder: one that this binary began with the same settings, else a new one ---------------------------
settings="kernels $(cksum <"$KERNELS"), threads ${THREADS:-all}, variants ${variants:-all}, $REPETITIONS repetitions"
folder=
for old in "$RESULTS/$machine"/*-"$commit"*; do
    if [ "$(cat "$old/scratch/settings" 2>/dev/null)" = "$settings" ]; then folder=$old; fi
done
if [ -z "$folder" ]; then
    base=$RESULTS/$machine/$(date +%Y-%m-%d)-$commit folder=$base n=2
    while [ -e "$folder" ]; do folder=$base-$n n=$((n + 1)); done
fi
scratch=$folder/scratch
case $folder in *[[:space:]]*) fail "RESULTS=$RESULTS: holds a blank" ;; esac

full_disk() { fail "$folder: cannot be written: its disk is full (or it is not ours). Finished points are kept: free some space, then run it again"; }
room() { # a megabyte
    if head -c 1000000 /dev/zero >"$scratch/room" 2>/dev/null; then rm "$scratch/room"; else rm -f "$scratch/room"; false; fi
}
mkdir -p "$scratch" && room && { [ -f "$scratch/settings" ] || echo "$settings" >"$scratch/settings"; } || full_disk
if command -v flock >/dev/null; then
    exec 9>"$scratch/lock"
    flock -n 9 || fail "another sweep is at work in $folder"
fi

cp "$KERNELS" "$scratch/kernels" || full_disk # so that a build beside the sweep changes nothing

child=
interrupted() {
    trap '' INT TERM HUP
    [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null || true
    rm -f "$scratch"/*.part "$scratch/kernels"
    echo >&2
    echo "bench: interrupted; finished points are kept in $folder: run it again to go on" >&2
    exit 130
}
trap interrupted INT TERM HUP

# --- points: backend element size order plastic pattern ------------------------------------------------------
if [ -n "$FULL" ]; then
    SIZES_host=${SIZES_host:-10000 25000 50000 100000 200000 300000 400000 800000 1600000}
    SIZES_cuda=${SIZES_cuda:-30000 100000 300000 600000 1000000 2000000 3000000 6400000 10000000}
elif [ "$(nproc 2>/dev/null || echo 1)" -ge 16 ]; then
    SIZES_host=${SIZES_host:-100000 300000 800000 3200000}
else
    SIZES_host=${SIZES_host:-25000 100000}
fi
SIZES_cuda=${SIZES_cuda:-300000 1000000 6400000}
points() {
    for backend in $BACKENDS; do
        [ "$backend" = host ] && sizes=$SIZES_host || sizes=$SIZES_cuda
        for size in $sizes; do
            for element in $ELEMENTS; do echo "$backend $element $size lexicographic 1 clustered"; done
        done
        # the order that patches like best, at the last size
        [ "$backend" = host ] || for element in $ELEMENTS; do echo "$backend $element $size bisection 1 clustered"; done
        [ -n "$FULL" ] || continue
        # at the reference size: orders, shares of plastic elements, and the redundant forms
        for element in $ELEMENTS; do
            echo "$backend $element 300000 lexicographic 1 clustered"
            for order in rcm morton bisection random; do echo "$backend $element 300000 $order 1 clustered"; done
            for plastic in 0 0.01 0.1 0.5 1; do
                for pattern in clustered scattered; do
                    echo "$backend $element 300000 lexicographic $plastic $pattern"
                done
            done
        done
        echo "$backend tet4_p4 300000 lexicographic 1 clustered"
        echo "$backend hex8_naive 300000 lexicographic 1 clustered"
    done
}
# Rough seconds of a point on two cores or one GPU, for the time left: a first guess, then scaled by what is seen.
weigh() {
    awk -v n="$n_variant" '{
        shape = $2 == "tet4" ? 1 : $2 == "hex8_naive" ? 5 : 2
        print n / 50000 * ($1 == "host" ? 80000 + shape * $3 : 150000 + $3 / 10), $0
    }'
}

# All finished points under one header, in one order. Rows of points that were killed stand in for them.
gather_one() { # target, sort keys, files
    target=$1 keys=$2
    shift 2
    [ $# -gt 0 ] || return 0
    { head -n 1 "$1" && awk 'FNR > 1' "$@" | sort -s -t, $keys; } >"$scratch/$target" && mv "$scratch/$target" "$folder/$target"
}
finished() { for file in "$scratch"/$1; do [ ! -f "$file" ] || echo "$file"; done; }
gather() {
    gather_one kernels.csv "-k4,4 -k9,9 -k11,11 -k13,13 -k12,12 -k15,15n -k16,16 -k8,8" $(finished '*.rows.csv') $(finished '*.killed.csv') &&
        gather_one samples.csv "-k1,1 -k4,4 -k6,6 -k8,8 -k7,7 -k9,9n -k10,10 -k3,3" $(finished '*.samples.csv') || full_disk
}

# measure ROWS [FLAG...]: one point's rows into the file ROWS. The program runs beside the shell, which so hears
# an interruption at once.
measure() {
    rows=$1
    shift
    [ "$pattern" = clustered ] || set -- --fe_scatter "$@"
    "$scratch/kernels" --fe_backend="$backend" --fe_elements="$element" --fe_dofs="$size" --fe_order="$order" \
        --fe_plastic="$plastic" ${THREADS:+--fe_threads="$THREADS"} ${variants:+--fe_variants="$variants"} \
        --fe_rows="$rows" --benchmark_repetitions=$REPETITIONS "$@" >"$at.log" 2>&1 &
    child=$! code=0
    wait "$child" || code=$?
    child=
}

points | awk '!seen[$0]++' | weigh >"$scratch/points" || full_disk
total=$(wc -l <"$scratch/points")
echo "bench: $total points, $n_variant variants, on $machine, commit $commit, into $folder"
case $commit in *-dirty) echo "bench: there are changes since the commit: these results are for a look, not for keeping" ;; esac

start=$(date +%s) i=0 done=0 kept=0 failed=0
left=$(awk '{ s += $1 } END { print s }' "$scratch/points")
while read -r seconds backend element size order plastic pattern <&3; do
    i=$((i + 1)) name=$backend-$element-$size-$order-$plastic-$pattern at=$scratch/$backend-$element-$size-$order-$plastic-$pattern
    if [ -f "$at.rows.csv" ]; then
        kept=$((kept + 1))
    else
        echo "$done $left $(($(date +%s) - start))" | awk -v point="point $i of $total: $backend $element, $size DoF, $order, plastic $plastic $pattern" '{
            s = int($2 * ($3 + 20) / ($1 + 20)) # the guess counts like 20 s that were seen
            printf "bench: %s; about %s left\n", point, s < 100 ? s " s" : int(s / 60 + 0.5) " min"
        }'
        measure "$at.rows.part" --fe_machine="$folder/machine.csv" --fe_samples="$at.samples.part" --benchmark_out="$at.json.part"
        grep '^kernels: ' "$at.log" >&2 || true # rows without times, and why
        if [ $code -eq 0 ]; then
            mv "$at.json.part" "$at.json"
            mv "$at.samples.part" "$at.samples.csv"
            mv "$at.rows.part" "$at.rows.csv" # last: this one says that the point is complete
            rm -f "$at.killed.csv"
        else
            room || full_disk
            [ $code -ne 2 ] || exit 1
            failed=$((failed + 1))
            rm -f "$at".*.part
            if [ $code -gt 128 ]; then
                mv "$at.log" "$at.killed.log"
                measure "$at.killed.csv" --fe_give_up=killed
                echo "bench: $name was killed (out of memory, or a crash); the sweep goes on" >&2
            fi
        fi
        gather
        done=$(awk "BEGIN { print $done + $seconds }")
    fi
    left=$(awk "BEGIN { print $left - $seconds }")
done 3<"$scratch/points"
gather
[ -f "$folder/kernels.csv" ] || fail "no point could be measured"
[ $kept -lt "$total" ] || echo "bench: all points were there; for new ones, in a new folder: rm -r $scratch"

awk -f bench/table.awk "$folder/kernels.csv" >"$scratch/table.md" && mv "$scratch/table.md" "$folder/table.md" || full_disk
rm -f "$scratch/kernels"
sh plots/plots.sh "$folder" || true # it says what it left out
echo "bench: $((total - kept - failed)) points in $(($(date +%s) - start)) s; results are in $folder: table.md, kernels.csv"
awk -F, 'NR > 1 && $NF != "ok" { n[$NF]++ } END { for (s in n) print "bench: rows without times: " n[s] " " s }' "$folder/kernels.csv" >&2
[ $failed -eq 0 ] || fail "$failed points failed; run it again to try them once more"
