#!/bin/sh
# Where Anderson acceleration helps and where it hurts: the perforated strip (tests/validation), 14 steps, with a
# consistent tangent (Newton) and a frozen one (modified Newton), at several depths. Leaves anderson.csv,
# anderson-history.csv and a figure in RESULTS/MACHINE/DATE-COMMIT/. Iterations, not times: any machine will do.
#   BUILD=build RESULTS=results [STEP=8] sh bench/anderson.sh
set -eu
export LC_ALL=C
BUILD=${BUILD:-build} RESULTS=${RESULTS:-results} STEP=${STEP:-8}
fail() { echo "anderson: $*" >&2; exit 1; }
for program in solve kernels; do [ -x "$BUILD/$program" ] || fail "$BUILD/$program is not there: make builds it"; done
commit=$("$BUILD/solve" --version | sed -n 's/^febench //p')
machine=$("$BUILD/kernels" --fe_slug)
folder=$RESULTS/$machine/$(date +%Y-%m-%d)-$commit
mkdir -p "$folder"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo schema,commit,machine,problem,element,variant,jacobian,depth,steps,newton,krylov,status >"$work/rows"
echo element,jacobian,depth,step,iteration,residual >"$work/history"
for element in hex8 tet4; do
    for jacobian in tangent elastic; do
        for depth in 0 1 3 5 10; do
            "$BUILD/solve" tests/validation/problems/strip.json --mesh "tests/validation/meshes/strip_${element%?}.msh" \
                --jacobian $jacobian --anderson $depth --predictor elastic --newton-iterations 5000 --threads 1 \
                --result "$work/result.json" >"$work/log" 2>&1 || echo "anderson: $element $jacobian $depth: $(tail -n 1 "$work/log")" >&2
            # The result has one key or one number a line.
            awk -F '[:, ]+' -v row="1,$commit,$machine,strip,$element,patch,$jacobian,$depth" -v history="$work/history" \
                -v about="$element,$jacobian,$depth" -v wanted="$STEP" '
                /"failed_step"/ { over = 1 }
                /"status"/ && !status { status = $3; gsub(/"/, "", status) }
                over { next }
                /^   "step"/ { step = $3; n = 0 }
                /"iterations"/ { newton += $3 }
                /"krylov_iterations"/ { krylov += $3 }
                /"residuals"/ { listed = 1; next }
                /\]/ { listed = 0 }
                listed && step == wanted { print about "," step "," n++ "," $2 >history ".one" }
                END { print row "," step "," newton "," krylov "," status }' "$work/result.json" >>"$work/rows"
            [ ! -f "$work/history.one" ] || cat "$work/history.one" >>"$work/history"
            rm -f "$work/history.one"
            tail -n 1 "$work/rows"
        done
    done
done
mv "$work/rows" "$folder/anderson.csv"
mv "$work/history" "$folder/anderson-history.csv"
sh plots/plots.sh "$folder"
echo "anderson: results are in $folder: anderson.csv, anderson-history.csv, anderson-host.svg"
