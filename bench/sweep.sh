#!/bin/sh
# Sweeps build/kernels over backends, elements and sizes that suit this machine and leaves rows, samples, tables
# and figures in results/MACHINE/DATE-COMMIT/. Run again after an interruption: finished points are kept.
#
#   BUILD=build FULL= THREADS= RESULTS=results BACKENDS="host cuda" SIZES_host="…" SIZES_cuda="…" sh bench/sweep.sh
#
# A point is one call of kernels: all variants and operations on one backend, element and size. Its files get
# their final names when it is complete.
set -eu

BUILD=${BUILD:-build} FULL=${FULL:-} RESULTS=${RESULTS:-results} KERNELS=$BUILD/kernels
ELEMENTS=${ELEMENTS:-tet4 hex8}
case $FULL in 0 | no) FULL= ;; esac

fail() { echo "bench: $*" >&2; exit 1; }
test -x "$KERNELS" || fail "$KERNELS is not there: make info says what it needs"
[ -z "${THREADS:-}" ] || threads="--fe_threads=$THREADS"
trap 'echo; echo "bench: interrupted; finished points are kept, run it again to go on" >&2; exit 130' INT TERM

machine=$("$KERNELS" --fe_slug)
commit=$("$KERNELS" --version | sed -n 's/^febench //p')
gpu=; if "$KERNELS" --fe_backend=cuda --fe_slug >/dev/null 2>&1; then gpu=yes; fi
BACKENDS=${BACKENDS:-host${gpu:+ cuda}}
build=$(cksum <"$KERNELS")

# The folder of this build: an unfinished or finished one of the same binary, else a new one.
folder=
for old in "$RESULTS/$machine"/*-"$commit${FULL:+-full}"*; do
    if [ -f "$old/raw/build" ] && [ "$(cat "$old/raw/build")" = "$build" ]; then folder=$old; fi
done
if [ -z "$folder" ]; then
    base=$RESULTS/$machine/$(date +%Y-%m-%d)-$commit${FULL:+-full} folder=$base n=2
    while [ -e "$folder" ]; do folder=$base-$n n=$((n + 1)); done
    mkdir -p "$folder/raw"
    echo "$build" >"$folder/raw/build"
fi

# --- points: backend element size order plastic -----------------------------------------------------------
if [ -n "$FULL" ]; then
    SIZES_host=${SIZES_host:-10000 25000 50000 100000 200000 400000 800000 1600000}
    SIZES_cuda=${SIZES_cuda:-30000 100000 300000 600000 1000000 2000000 3000000 6400000 10000000}
    repetitions=15
else
    SIZES_host=${SIZES_host:-25000 100000 400000 800000}
    SIZES_cuda=${SIZES_cuda:-300000 1000000 3000000 6400000}
    repetitions=9
fi
points() {
    for backend in $BACKENDS; do
        [ "$backend" = host ] && sizes=$SIZES_host || sizes=$SIZES_cuda
        for size in $sizes; do
            for element in $ELEMENTS; do echo "$backend $element $size lexicographic 1"; done
        done
        [ -n "$FULL" ] || continue
        # at the reference size: orders, shares of plastic elements, and the redundant forms
        for element in $ELEMENTS; do
            for order in rcm morton random; do echo "$backend $element 300000 $order 1"; done
            for plastic in 0 0.05 0.25 0.5; do echo "$backend $element 300000 lexicographic $plastic"; done
        done
        echo "$backend tet4_p4 300000 lexicographic 1"
        echo "$backend hex8_naive 300000 lexicographic 1"
    done
}

# Rough cost of a point, for the estimate of the time left.
weigh() { awk '{ c = $1 == "host" ? 60000 + $3 : 150000 + $3 / 10; print c, $0 }'; }

gather() { # rows of all finished points under one header
    for kind in rows samples; do
        set -- "$folder"/raw/*."$kind".csv
        [ -f "$1" ] || continue
        awk 'FNR > 1 || NR == 1' "$@" >"$folder/$kind.part"
    done
    [ ! -f "$folder/rows.part" ] || mv "$folder/rows.part" "$folder/kernels.csv"
    [ ! -f "$folder/samples.part" ] || mv "$folder/samples.part" "$folder/raw/samples.csv"
}

points | weigh >"$folder/raw/points"
total=$(wc -l <"$folder/raw/points")
all_weight=$(awk '{ c += $1 } END { print c }' "$folder/raw/points")
echo "bench: $total points on $machine, commit $commit, into $folder"
start=$(date +%s) i=0 weight_left=$all_weight weight_done=0 failed=0
while read -r weight backend element size order plastic <&3; do
    i=$((i + 1))
    name=$backend-$element-$size-$order-$plastic raw=$folder/raw/$backend-$element-$size-$order-$plastic
    if [ ! -f "$raw.rows.csv" ]; then
        left=$(echo "$weight_done $weight_left $(($(date +%s) - start))" |
            awk '{ if ($1 > 0) printf "about %d s left", $2 * $3 / $1; else print "time left not known yet" }')
        echo "bench: point $i of $total: $backend $element, $size DoF, $order, plastic $plastic; $left"
        if "$KERNELS" --fe_backend="$backend" --fe_elements="$element" --fe_dofs="$size" --fe_order="$order" \
            --fe_plastic="$plastic" ${threads:-} --fe_machine="$folder/machine.csv" --fe_rows="$raw.rows.part" \
            --fe_samples="$raw.samples.part" --benchmark_out="$raw.json.part" \
            --benchmark_repetitions=$repetitions >"$raw.log" 2>&1; then
            mv "$raw.json.part" "$raw.json"
            mv "$raw.samples.part" "$raw.samples.csv"
            mv "$raw.rows.part" "$raw.rows.csv" # last: this one says that the point is complete
            rm "$raw.log"
            gather
        else
            failed=$((failed + 1))
            echo "bench: $name failed: $(tail -n 1 "$raw.log")" >&2
        fi
        weight_done=$(awk "BEGIN { print $weight_done + $weight }")
    fi
    weight_left=$(awk "BEGIN { print $weight_left - $weight }")
done 3<"$folder/raw/points"
gather
[ -f "$folder/kernels.csv" ] || fail "no point could be measured"

awk -f bench/table.awk "$folder/kernels.csv" >"$folder/table.md"
sh plots/plots.sh "$folder"
bad=$(awk -F, 'NR > 1 && $NF != "ok"' "$folder/kernels.csv" | wc -l)
echo "bench: $(($(date +%s) - start)) s; $folder/table.md, kernels.csv and figures are written"
[ "$bad" -eq 0 ] || echo "bench: $bad rows have no time (column status says why)" >&2
[ "$failed" -eq 0 ] || fail "$failed points failed; run it again to try them once more"
