#!/bin/sh
# Sweeps the program kernels over backends, elements and sizes that suit this machine, then the program scaling over
# numbers of ranks, and leaves rows, samples, tables and figures in RESULTS/MACHINE/DATE-COMMIT/ (results/README.md
# describes them). Run again after an interruption: finished points are kept.
#
#   sh bench/sweep.sh       from the root of the repository; make bench does it after building
#
# Environment (make bench takes the same names as arguments), with defaults:
#   BUILD=build             where kernels and scaling are
#   RESULTS=results         where the machine's folder is
#   FULL=                   1: all sizes, node orders, shares of plastic elements, redundant element forms; all
#                           strategies on several ranks
#   BACKENDS="host cuda"    those that are there
#   ELEMENTS="tet4 hex8"
#   VARIANTS=               strategies, all (on several ranks: five); kernels --fe_list prints them
#   SIZES_host= SIZES_cuda= degrees of freedom, "25000 100000"
#   THREADS=                of the host backend, all cores; of each rank on the host, 1
#   REPETITIONS=            samples, 15; of ranks on the host 7
#   RANKS_host= RANKS_cuda= "1 2 4 8": powers of two up to what cores and GPUs hold, none where that is one; 0: none
#   STRONG_host= STRONG_cuda=  degrees of freedom of all ranks together, 0: none
#   WEAK_host= WEAK_cuda=   of each rank, 0: none
#
# A point is one call of kernels: all variants and operations on one backend, element and size, checked first and
# then timed in turns; or one call of scaling: variants one after another on one backend, element, box and number of
# ranks. Its files in scratch/ get their final names when it is complete.
set -eu
export LC_ALL=C

BUILD=${BUILD:-build} FULL=${FULL:-} RESULTS=${RESULTS:-results} KERNELS=$BUILD/kernels SCALING=$BUILD/scaling
ELEMENTS=${ELEMENTS:-tet4 hex8} VARIANTS=${VARIANTS:-} THREADS=${THREADS:-} REPETITIONS=${REPETITIONS:-}
repetitions=${REPETITIONS:-15}      # the interval is then the 4th to the 12th sample
repetitions_host=${REPETITIONS:-7}  # of ranks: from the least to the largest
repetitions_cuda=$repetitions
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

# --- ranks: how many, on which boxes, with which strategies ---------------------------------------------------
cores=$(nproc 2>/dev/null || echo 1)
ranks_variants= n_ranks_variant=0 ranks_build=none
if [ -x "$SCALING" ]; then
    ranks_build=$(cksum <"$SCALING")
    known=$("$SCALING" --list)
    five="element_atomic node_csr two_phase patch assembled_bsr"
    [ -z "$FULL" ] || five=$known
    for variant in ${VARIANTS:-$five}; do # bound is none
        if echo "$known" | grep -qx "$variant"; then
            ranks_variants=$ranks_variants${ranks_variants:+,}$variant n_ranks_variant=$((n_ranks_variant + 1))
        fi
    done
    doubled() { # BACKEND, THREADS of a rank: 1 2 4 ... ranks
        "$SCALING" --capacity | awk -v backend="$1" -v threads="$2" '
            $1 == backend && $2 >= 2 * threads { for (n = 1; n * threads <= $2; n *= 2) print n }'
    }
    RANKS_host=${RANKS_host:-$(doubled host "${THREADS:-1}")}
    RANKS_cuda=${RANKS_cuda:-$(doubled cuda 1)}
else
    echo "bench: $SCALING is not there (make info says what it needs): no points on several ranks" >&2
    RANKS_host=0 RANKS_cuda=0
fi
[ -n "$ranks_variants" ] || RANKS_host=0 RANKS_cuda=0
if [ "$cores" -ge 16 ]; then
    STRONG_host=${STRONG_host:-100000} WEAK_host=${WEAK_host:-50000}
else
    STRONG_host=${STRONG_host:-25000} WEAK_host=${WEAK_host:-12000}
fi
STRONG_cuda=${STRONG_cuda:-300000 50000000} WEAK_cuda=${WEAK_cuda:-6000000}

# --- the folder: one that this binary began with the same settings, else a new one ---------------------------
settings="kernels $(cksum <"$KERNELS"), threads ${THREADS:-all}, variants ${variants:-all}, $repetitions repetitions"
settings="$settings; ranks $ranks_build, threads ${THREADS:-1}, variants ${ranks_variants:-none}, repetitions $repetitions_host and $repetitions_cuda"
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
[ "$ranks_build" = none ] || cp "$SCALING" "$scratch/scaling" || full_disk

child=
interrupted() {
    trap '' INT TERM HUP
    [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null || true
    rm -f "$scratch"/*.part "$scratch/kernels" "$scratch/scaling"
    echo >&2
    echo "bench: interrupted; finished points are kept in $folder: run it again to go on" >&2
    exit 130
}
trap interrupted INT TERM HUP

# --- points: kernels backend element size order plastic pattern, or scaling backend element size kind ranks ---
if [ -n "$FULL" ]; then
    SIZES_host=${SIZES_host:-10000 25000 50000 100000 200000 300000 400000 800000 1600000}
    SIZES_cuda=${SIZES_cuda:-30000 100000 300000 600000 1000000 2000000 3000000 6400000 10000000}
elif [ "$cores" -ge 16 ]; then
    SIZES_host=${SIZES_host:-100000 300000 800000 3200000}
else
    SIZES_host=${SIZES_host:-25000 100000}
fi
SIZES_cuda=${SIZES_cuda:-300000 1000000 6400000}
kernel_points() {
    for backend in $BACKENDS; do
        [ "$backend" = host ] && sizes=$SIZES_host || sizes=$SIZES_cuda
        for size in $sizes; do
            for element in $ELEMENTS; do echo "kernels $backend $element $size lexicographic 1 clustered"; done
        done
        # the order that patches like best, at the last size
        [ "$backend" = host ] || for element in $ELEMENTS; do echo "kernels $backend $element $size bisection 1 clustered"; done
        [ -n "$FULL" ] || continue
        # at the reference size: orders, shares of plastic elements, and the redundant forms
        for element in $ELEMENTS; do
            echo "kernels $backend $element 300000 lexicographic 1 clustered"
            for order in rcm morton bisection random; do echo "kernels $backend $element 300000 $order 1 clustered"; done
            for plastic in 0 0.01 0.1 0.5 1; do
                for pattern in clustered scattered; do
                    echo "kernels $backend $element 300000 lexicographic $plastic $pattern"
                done
            done
        done
        echo "kernels $backend tet4_p4 300000 lexicographic 1 clustered"
        echo "kernels $backend hex8_naive 300000 lexicographic 1 clustered"
    done
}
rank_points() {
    for backend in $BACKENDS; do
        [ "$backend" = host ] && strong=$STRONG_host weak=$WEAK_host counts=$RANKS_host ||
            strong=$STRONG_cuda weak=$WEAK_cuda counts=$RANKS_cuda
        for element in $ELEMENTS; do
            for kind in strong weak; do
                [ $kind = strong ] && sizes=$strong || sizes=$weak
                for size in $sizes; do
                    for ranks in $counts; do
                        [ "$size" = 0 ] || [ "$ranks" = 0 ] || echo "scaling $backend $element $size $kind $ranks"
                    done
                done
            done
        done
    done
}
# Rough seconds of a point on two cores or one GPU, for the time left: a first guess, then scaled by what is seen.
weigh() {
    awk -v n="$n_variant" -v n_ranks="$n_ranks_variant" '{
        shape = $3 == "tet4" ? 1 : $3 == "hex8_naive" ? 5 : 2
        size = $1 == "scaling" && $5 == "strong" ? $4 / $6 : $4 # of a rank
        if ($1 == "kernels") seconds = n / 50000 * ($2 == "host" ? 80000 + shape * size : 150000 + size / 10)
        else seconds = n_ranks * ($2 == "host" ? 0.5 + shape * size / 10000 : 2 + size / 2000000)
        print seconds, $0
    }'
}

# All finished points under one header, in one order (of scaling, rows of a point stay in theirs). Rows of points that
# were killed stand in for them.
gather_one() { # target, sort keys, files
    target=$1 keys=$2
    shift 2
    [ $# -gt 0 ] || return 0
    { head -n 1 "$1" && awk 'FNR > 1' "$@" | sort -s -t, $keys; } >"$scratch/$target" && mv "$scratch/$target" "$folder/$target"
}
finished() { for file in "$scratch"/$1; do [ ! -f "$file" ] || echo "$file"; done; }
gather() {
    gather_one kernels.csv "-k4,4 -k9,9 -k11,11 -k13,13 -k12,12 -k15,15n -k16,16 -k8,8" $(finished 'kernels-*.rows.csv') $(finished 'kernels-*.killed.csv') &&
        gather_one samples.csv "-k1,1 -k4,4 -k6,6 -k8,8 -k7,7 -k9,9n -k10,10 -k3,3" $(finished 'kernels-*.samples.csv') &&
        gather_one scaling.csv "-k4,4 -k9,9 -k10.1,10.4 -k15,15n -k6,6n" $(finished 'scaling-*.rows.csv') $(finished 'scaling-*.killed.csv') || full_disk
}

# measure ROWS [FLAG...]: one point's rows into the file ROWS. The program runs beside the shell, which so hears
# an interruption at once.
measure() {
    rows=$1
    shift
    case $program in
    kernels)
        [ "$pattern" = clustered ] || set -- --fe_scatter "$@"
        set -- --fe_backend="$backend" --fe_elements="$element" --fe_dofs="$size" --fe_order="$order" \
            --fe_plastic="$plastic" ${THREADS:+--fe_threads="$THREADS"} ${variants:+--fe_variants="$variants"} \
            --fe_rows="$rows" --benchmark_repetitions="$repetitions" "$@"
        ;;
    scaling)
        [ "$kind" = strong ] || set -- --weak "$@"
        if [ "$backend" = host ]; then
            set -- --threads "${THREADS:-1}" --repetitions "$repetitions_host" "$@"
        else
            set -- --repetitions "$repetitions_cuda" "$@"
        fi
        set -- --backend "$backend" --elements "$element" --dofs "$size" --ranks "$ranks" \
            --variants "$ranks_variants" --rows "$rows" "$@"
        ;;
    esac
    "$scratch/$program" "$@" >"$at.log" 2>&1 &
    child=$! code=0
    wait "$child" || code=$?
    child=
}
# The same without running anything: rows with a status.
give_up() {
    case $program in
    kernels) measure "$at.killed.csv" --fe_give_up="$1" ;;
    scaling) measure "$at.killed.csv" --give-up "$1" ;;
    esac
}

{ kernel_points && rank_points; } | awk '!seen[$0]++' | weigh >"$scratch/points" || full_disk
total=$(wc -l <"$scratch/points")
on_ranks=$(grep -c ' scaling ' "$scratch/points") || true
echo "bench: $total points$([ "$on_ranks" -eq 0 ] || echo " ($on_ranks of them on ranks, with $n_ranks_variant variants)"), $n_variant variants, on $machine, commit $commit, into $folder"
case $commit in *-dirty) echo "bench: there are changes since the commit: these results are for a look, not for keeping" ;; esac

start=$(date +%s) i=0 done=0 kept=0 failed=0 refused=0
left=$(awk '{ s += $1 } END { print s }' "$scratch/points")
while read -r seconds program backend element size first second third <&3; do
    i=$((i + 1)) name=$program-$backend-$element-$size-$first-$second${third:+-$third}
    at=$scratch/$name
    case $program in
    kernels) order=$first plastic=$second pattern=$third about="$size DoF, $order, plastic $plastic $pattern" ;;
    scaling) kind=$first ranks=$second about="$size DoF$([ "$kind" = strong ] || echo ' a rank'), $kind, $ranks $([ "$ranks" = 1 ] && echo rank || echo ranks)" ;;
    esac
    if [ -f "$at.rows.csv" ]; then
        kept=$((kept + 1))
    else
        echo "$done $left $(($(date +%s) - start))" | awk -v point="point $i of $total: $backend $element, $about" '{
            s = int($2 * ($3 + 20) / ($1 + 20)) # the guess counts like 20 s that were seen
            printf "bench: %s; about %s left\n", point, s < 100 ? s " s" : int(s / 60 + 0.5) " min"
        }'
        case $program in
        kernels) measure "$at.rows.part" --fe_machine="$folder/machine.csv" --fe_samples="$at.samples.part" --benchmark_out="$at.json.part" ;;
        scaling) measure "$at.rows.part" ;;
        esac
        grep "^$program: " "$at.log" >&2 || true # rows without times, and why
        if [ $code -eq 0 ]; then
            if [ $program = kernels ]; then
                mv "$at.json.part" "$at.json"
                mv "$at.samples.part" "$at.samples.csv"
            fi
            mv "$at.rows.part" "$at.rows.csv" # last: this one says that the point is complete
            rm -f "$at.killed.csv"
        else
            room || full_disk
            [ $program-$code != kernels-2 ] || exit 1
            rm -f "$at".*.part
            status=
            if [ $code -gt 128 ]; then
                status=killed failed=$((failed + 1))
                echo "bench: $name was killed (out of memory, or a crash); the sweep goes on" >&2
            elif [ $program = kernels ]; then
                failed=$((failed + 1))
            elif [ $code -eq 2 ]; then
                refused=$((refused + 1))
                echo "bench: $name cannot be measured here; the sweep goes on" >&2
            elif grep -q 'no memory for' "$at.log"; then
                status=out_of_memory refused=$((refused + 1))
                echo "bench: $name does not fit; the sweep goes on" >&2
            else
                status=failed failed=$((failed + 1))
                echo "bench: $name failed; the sweep goes on" >&2
            fi
            if [ -n "$status" ]; then
                mv "$at.log" "$at.killed.log"
                give_up $status
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

tabulate() { # SCRIPT ROWS TABLE
    awk -f "bench/$1" "$folder/$2" >"$scratch/$3" && mv "$scratch/$3" "$folder/$3" || full_disk
}
tabulate table.awk kernels.csv table.md
also=
if [ -f "$folder/scaling.csv" ]; then
    tabulate scaling.awk scaling.csv scaling.md
    also=", scaling.md, scaling.csv"
fi
rm -f "$scratch/kernels" "$scratch/scaling"
sh plots/plots.sh "$folder" || true # it says what it left out
echo "bench: $((total - kept - failed - refused)) points in $(($(date +%s) - start)) s; results are in $folder: table.md, kernels.csv$also"
awk -F, 'FNR > 1 && $NF != "ok" { n[$NF]++ } END { for (s in n) print "bench: rows without times: " n[s] " " s }' \
    "$folder/kernels.csv" ${also:+"$folder/scaling.csv"} >&2
[ $failed -eq 0 ] || fail "$failed points failed; run it again to try them once more"
