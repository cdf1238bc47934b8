#!/bin/sh
# Times operations with each way to store states and tangents (common/physics/view.h), each of them another build of
# kernels, and leaves storage.csv and storage.md in RESULTS/MACHINE/DATE-COMMIT/. make storage builds and runs it.
#   BUILD=build RESULTS=results [BACKEND=cuda] [SIZE=6400000] [ORDER=bisection] [VARIANTS=...] [REPETITIONS=15]
#       sh bench/storage.sh
# The builds are BUILD/kernels and BUILD/storage/NAME/kernels.
set -eu
export LC_ALL=C
BUILD=${BUILD:-build} RESULTS=${RESULTS:-results} ORDER=${ORDER:-bisection} REPETITIONS=${REPETITIONS:-15}
VARIANTS=${VARIANTS:-element_only element_atomic patch}
fail() { echo "storage: $*" >&2; exit 1; }
[ -x "$BUILD/kernels" ] || fail "$BUILD/kernels is not there: make storage builds it"
if "$BUILD/kernels" --fe_backend=cuda --fe_slug >/dev/null 2>&1; then
    BACKEND=${BACKEND:-cuda} SIZE=${SIZE:-6400000}
else
    BACKEND=${BACKEND:-host} SIZE=${SIZE:-100000}
fi
commit=$("$BUILD/kernels" --version | sed -n 's/^febench //p')
folder=$RESULTS/$("$BUILD/kernels" --fe_slug)/$(date +%Y-%m-%d)-$commit
mkdir -p "$folder"
rows=$folder/storage.part
rm -f "$rows" "$rows.one"
for storage in GROUPS FLOATS FULL RECORDS ARRAYS; do
    kernels=$BUILD/storage/$storage/kernels
    [ $storage != GROUPS ] || kernels=$BUILD/kernels
    [ -x "$kernels" ] || fail "$kernels is not there: make storage builds it"
    for element in hex8 tet4; do
        echo "storage: $storage, $element, $BACKEND, about $SIZE DoF, $ORDER"
        "$kernels" --fe_backend="$BACKEND" --fe_elements=$element --fe_dofs="$SIZE" --fe_order="$ORDER" \
            --fe_variants="$(echo $VARIANTS | tr ' ' ',')" --fe_operations=residual,material,jacvec,diagonal \
            --fe_machine="$folder/machine.csv" --fe_rows="$rows.one" --benchmark_repetitions="$REPETITIONS" \
            >"$rows.log" 2>&1 || fail "$kernels failed: $(tail -n 1 "$rows.log")"
        [ -f "$rows" ] || echo "storage,$(head -n 1 "$rows.one")" >"$rows"
        awk -v storage=$storage 'NR > 1 { print storage "," $0 }' "$rows.one" | sort -s -t, -k9,9 -k17,17 >>"$rows"
        rm "$rows.one" "$rows.log"
    done
done
mv "$rows" "$folder/storage.csv"
sh bench/tabulate.sh "$folder"
echo "storage: results are in $folder: storage.md, storage.csv"
