#!/bin/sh
# Draws all figures of result folders: throughput, crossover, operations, ceiling, meshes, precisions, break-even,
# breakdown, scaling, Anderson acceleration and orthogonality, for each backend that has rows, as SVG and PNG.
#   sh plots/plots.sh FOLDER...     from the root of the repository
set -eu
export LC_ALL=C.UTF-8
if ! command -v gnuplot >/dev/null; then
    echo "plots: gnuplot is not there (apt-get install gnuplot-nox): figures are left out; make plots draws them later, here or elsewhere" >&2
    exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
draw() { # FOLDER FIGURE BACKEND [SCRIPT]: as SVG and PNG, from $work/data.gp
    for format in svg png; do
        file=$2-$3.$format
        # drawn elsewhere and moved: a figure is the old one or the new one
        gnuplot -e "format = '$format'; output = '$work/$file'" "$work/data.gp" "plots/${4:-$2}.gp" 2>"$work/log" &&
            mv "$work/$file" "$1/$file" || {
            echo "plots: $1/$file could not be drawn" >&2
            cat "$work/log" >&2
            status=1
        }
    done
}
for folder in "$@"; do
    if [ -f "$folder/anderson.csv" ]; then
        awk -F, -f plots/anderson.awk "$folder/anderson.csv" "$folder/anderson-history.csv" >"$work/data.gp"
        draw "$folder" anderson host
    fi
    if [ -f "$folder/orthogonality.csv" ]; then
        awk -F, -f plots/orthogonality.awk "$folder/orthogonality.csv" >"$work/data.gp"
        draw "$folder" orthogonality host
    fi
    if [ -f "$folder/kernels.csv" ]; then
        awk -f results/csv.awk -f plots/crossover.awk "$folder/machine.csv" "$folder/kernels.csv" >"$work/data.gp"
        [ ! -s "$work/data.gp" ] || draw "$folder" crossover both throughput # where host and GPU have rows
    fi
    for backend in host cuda; do
        : >"$work/data.gp"
        [ ! -f "$folder/kernels.csv" ] || # rows of several ranks may stand alone
            awk -v backend=$backend -f results/csv.awk -f plots/figures.awk variants/variants.def "$folder/machine.csv" "$folder/kernels.csv" \
                >"$work/data.gp"
        if [ -s "$work/data.gp" ]; then
            figures="throughput operations ceiling"
            grep -q "^shared = ''" "$work/data.gp" || figures="$figures plastic" # where there are several shares
            for figure in $figures; do draw "$folder" "$figure" $backend; done
        fi
        for figure in meshes precisions; do # where there are several
            [ -f "$folder/kernels.csv" ] || continue
            awk -v backend=$backend -v what=$figure -f results/csv.awk -f plots/groups.awk variants/variants.def "$folder/kernels.csv" >"$work/data.gp"
            [ ! -s "$work/data.gp" ] || draw "$folder" $figure $backend groups
        done
        for reference in element_atomic assembled_bsr; do
            [ -f "$folder/kernels.csv" ] || continue
            awk -v backend=$backend -v reference=$reference -f results/csv.awk -f results/break_even.awk -f plots/break_even.awk \
                variants/variants.def "$folder/kernels.csv" >"$work/data.gp"
            [ ! -s "$work/data.gp" ] || draw "$folder" "break-even-$reference" $backend throughput # where a set-up is repaid
        done
        if [ -f "$folder/solves.csv" ]; then
            awk -v backend=$backend -f results/csv.awk -f plots/breakdown.awk variants/variants.def "$folder/solves.csv" >"$work/data.gp"
            [ ! -s "$work/data.gp" ] || draw "$folder" breakdown $backend
        fi
        [ -f "$folder/scaling.csv" ] || continue
        awk -v backend=$backend -f results/csv.awk -f results/scaling_case.awk -f plots/scaling.awk variants/variants.def \
            "$folder/scaling.csv" >"$work/data.gp"
        [ ! -s "$work/data.gp" ] || draw "$folder" scaling $backend # where there are several numbers of ranks
    done
done
exit $status
