#!/bin/sh
# Draws all figures of result folders: throughput, operations and ceiling, for each backend that has rows, as SVG
# and PNG.
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
for folder in "$@"; do
    for backend in host cuda; do
        awk -v backend=$backend -f plots/figures.awk variants/variants.def "$folder/machine.csv" "$folder/kernels.csv" \
            >"$work/data.gp"
        [ -s "$work/data.gp" ] || continue
        figures="throughput operations ceiling"
        grep -q "^shared = ''" "$work/data.gp" || figures="$figures plastic" # where there are several shares
        for figure in $figures; do
            for format in svg png; do
                file=$figure-$backend.$format
                # drawn elsewhere and moved: a figure is the old one or the new one
                gnuplot -e "format = '$format'; output = '$work/$file'" "$work/data.gp" "plots/$figure.gp" 2>"$work/log" &&
                    mv "$work/$file" "$folder/$file" || {
                    echo "plots: $folder/$file could not be drawn" >&2
                    cat "$work/log" >&2
                    status=1
                }
            done
        done
    done
done
exit $status
