#!/bin/sh
# Measures this machine: runs runner/run.py, which needs Python 3.11. Without one it runs kernels over one size, so that
# there are rows all the same; python3 -m report --run makes tables and figures of them elsewhere.
#   BUILD=build RESULTS=results [BACKENDS= ELEMENTS= SIZES_host= SIZES_cuda= ...] sh bench/bench.sh
#       from the root of the repository; make bench does it, with BENCH_BUILD, the command that builds all programs. make
#       help lists the variables
set -eu
export LC_ALL=C.UTF-8
BUILD=${BUILD:-build} RESULTS=${RESULTS:-results}
for modules in 'tomllib, numpy, scipy' tomllib; do # intervals of several processes need the others
    for python in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
        if "$python" -c "import $modules" 2>/dev/null; then exec "$python" -m runner.run; fi
    done
done
fail() { echo "bench: $*" >&2; exit 1; }
[ -z "${BENCH_BUILD:-}" ] || sh -c "$BENCH_BUILD"
kernels=$BUILD/kernels
[ -x "$kernels" ] || fail "$kernels is not there: make info says what it needs"
backend=host sizes=${SIZES_host:-25000}
if [ "${BACKENDS:-cuda}" != host ] && "$kernels" --fe_backend=cuda --fe_slug >/dev/null 2>&1; then backend=cuda sizes=${SIZES_cuda:-1000000}; fi
base=$RESULTS/$("$kernels" --fe_slug)/$(date +%Y-%m-%d)-$("$kernels" --version | sed -n 's/^febench //p') folder=$base n=2
while [ -e "$folder" ]; do folder=$base-$n n=$((n + 1)); done
mkdir -p "$folder"
echo "bench: there is no Python 3.11 (apt-get install python3): kernels alone on $backend, ${sizes%% *} DoF, into $folder; no tables, figures, solves, ranks, other sizes, budget" >&2
"$kernels" --fe_backend=$backend --fe_elements="$(echo ${ELEMENTS:-tet4 hex8} | tr ' ' ,)" --fe_dofs="${sizes%% *}" \
    ${VARIANTS:+--fe_variants="$(echo $VARIANTS | tr ' ' ,)"} ${THREADS:+--fe_threads="$THREADS"} \
    --benchmark_repetitions="${REPETITIONS:-15}" --fe_machine="$folder/machine.csv" --fe_samples="$folder/samples.csv" \
    --fe_rows="$folder/kernels.csv" || fail "$kernels failed; its rows are in $folder"
echo "bench: results are in $folder: kernels.csv; with Python 3.11, here or elsewhere, for tables and figures: python3 -m report --results $RESULTS --run ${folder#"$RESULTS/"}"
