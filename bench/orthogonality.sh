#!/bin/sh
# How orthogonal the bases of GMRES are: the bracket's coarse mesh (Hex8), one linear solve of its first load step, one
# cycle each of several lengths, well-conditioned (with multigrid) and ill-conditioned (without a preconditioner), for
# all orthogonalizations and both precisions of the basis. Leaves orthogonality.csv and a figure in
# RESULTS/MACHINE/DATE-COMMIT/. Rounding errors, not times: any machine will do.
#   BUILD=build RESULTS=results sh bench/orthogonality.sh
set -eu
export LC_ALL=C
BUILD=${BUILD:-build} RESULTS=${RESULTS:-results}
fail() { echo "orthogonality: $*" >&2; exit 1; }
for program in solve kernels; do [ -x "$BUILD/$program" ] || fail "$BUILD/$program is not there: make builds it"; done
commit=$("$BUILD/solve" --version | sed -n 's/^febench //p')
machine=$("$BUILD/kernels" --fe_slug)
folder=$RESULTS/$machine/$(date +%Y-%m-%d)-$commit
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo schema,commit,machine,problem,element,variant,precondition,orthogonalization,basis,columns,residual,loss >"$work/rows"
for precondition in multigrid none; do
    for orthogonalization in mgs cgs2 dcgs2; do
        for basis in double single; do
            for columns in 5 10 15 20 25 30 40 60 80; do
                # one Newton iteration a step, whatever comes out; the first step counts
                "$BUILD/solve" meshgen/bracket/bracket_coarse.json --mesh meshgen/bracket/bracket_hex8_coarse.msh --threads 1 \
                    --variant corner_gather --krylov gmres --precondition $precondition --orthogonalization $orthogonalization \
                    --basis $basis --restart $columns --krylov-iterations $columns --fixed-work --newton-iterations 1 \
                    --measure-orthogonality --result "$work/result.json" >"$work/log" 2>&1 ||
                    fail "$precondition $orthogonalization $basis $columns: $(tail -n 1 "$work/log")"
                # The result has one key or one number a line.
                awk -F '[:, ]+' -v row="1,$commit,$machine,bracket_coarse,hex8,corner_gather,$precondition,$orthogonalization,$basis,$columns" '
                    listed && !(listed in first) { first[listed] = $2 }
                    { listed = "" }
                    /"krylov_residuals"/ { listed = "residual" }
                    /"orthogonality"/ { listed = "loss" }
                    END { print row "," first["residual"] "," first["loss"] }' "$work/result.json" >>"$work/rows"
            done
            tail -n 1 "$work/rows"
        done
    done
done
mv "$work/rows" "$folder/orthogonality.csv"
sh plots/plots.sh "$folder"
echo "orthogonality: results are in $folder: orthogonality.csv, orthogonality-host.svg"
