#!/bin/sh
# Writes the tables of runs from their rows: table.md, solves.md, scaling.md and storage.md.
#   sh bench/tabulate.sh FOLDER...    from the root of the repository
set -eu
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
for folder in "$@"; do
    for table in table:kernels solves:solves scaling:scaling storage:storage; do
        name=${table%:*} rows=$folder/${table#*:}.csv
        [ -f "$rows" ] || continue
        # written elsewhere and moved: a table is the old one or the new one
        awk -f results/csv.awk -f results/break_even.awk -f results/scaling_case.awk -f "bench/$name.awk" "$rows" >"$work/$name.md" &&
            mv "$work/$name.md" "$folder/$name.md" || exit 1
    done
done
