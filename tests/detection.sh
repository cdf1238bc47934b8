#!/bin/sh
# A missing library is reported and left out, and the rest builds and runs: each optional library is hidden in turn, in two
# ways (its header is not found; its header does not compile), then all at once. Prints TAP, like the other tests.
#   sh tests/detection.sh       from the root of the repository; FE_BUILD: a build to take compiled files from
#
# A library is hidden by tests/detection/hide.c, which stands before the C library's functions that open files; nothing of
# the machine changes.
set -u
export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
n=0
passes() { n=$((n + 1)) && echo "ok $n - $1"; }
fails() { n=$((n + 1)) && echo "not ok $n - $1" && cat "$work/log" "$work/check" 2>/dev/null | sed 's/^/# /' | tail -n 20; }
skips() { n=$((n + 1)) && echo "# skipped: $2" && echo "ok $n - $1 # SKIP"; }
check() { # NAME COMMAND...: the command succeeds
    name=$1
    shift
    if "$@" >"$work/check" 2>&1; then passes "$name"; else fails "$name"; fi
}

# --- a library that hides files from compilers and shells ------------------------------------------------------
if ! ${CC:-cc} -shared -fPIC -O1 -o "$work/hide.so" tests/detection/hide.c -ldl >"$work/log" 2>&1; then
    fails 'tests/detection/hide.c is compiled'
    echo "1..$n"
    exit 1
fi
echo '#error "this header does not compile"' >"$work/broken.h"
hidden='' by=''
hide() { hidden=$1 by=''; }                # ENDS of paths, separated by colons: they do not exist
spoil() { hidden=$1 by=$work/broken.h; } # they do not compile
seeing() { # COMMAND...: sees the machine without what is hidden
    env LD_PRELOAD="$work/hide.so" FE_HIDE="$hidden" FE_HIDE_BY="$by" FE_HIDE_NOT="$work" "$@"
}

# make with what is hidden. The jobs of a make above are its own. MPICC is empty, as from a make that started before MPI
# was installed.
build() { # BUILD TARGET... [VARIABLE=VALUE...]
    folder=$1
    shift
    MAKEFLAGS=$(echo "${MAKEFLAGS:-}" | sed 's/--jobserver[^ ]*//g; s/-j[0-9]*//g; s/\(^\| \)--( |$)//') MPICC= \
        seeing make --no-print-directory -j"$(sh packaging/cores.sh)" BUILD="$folder" "$@" >"$work/log" 2>&1
}
programs="meshgen scaling solve solves kernels" # and peers, where there is PETSc
# built FOLDER PROGRAM...: these are there and say their version; no others are
built() {
    folder=$1 wanted=" $2 "
    for program in $programs; do
        case $wanted in
        *" $program "*) "$folder/$program" --version >>"$work/log" 2>&1 || { echo "$program does not run" >>"$work/log" && return 1; } ;;
        *) [ ! -e "$folder/$program" ] || { echo "$program was built" >>"$work/log" && return 1; } ;;
        esac
    done
}
copy_of() { # FOLDER NAME [AS]
    sh tests/copy_build.sh "$1" "$work/$2" ${3:+"$3"} >"$work/log" 2>&1
}
says_missing() { # TITLE: make info's line
    grep -q "^$1 *missing: " "$work/log"
}
# library TITLE HEADER PROGRAMS [FROM]: detection in both ways; programs without it where the header is not found
library() {
    spoil "$2"
    rm -rf "$work/copy" && mkdir "$work/copy"
    if build "$work/copy" info $variables && says_missing "$1"; then passes "$1: header broken"; else fails "$1: header broken"; fi
    hide "$2"
    copy_of "${4:-$work/base}" copy ${4:+"${FE_BUILD:-build}"}
    if build "$work/copy" info programs $variables && says_missing "$1" && built "$work/copy" "$3"; then
        passes "$1: header not found"
    else
        fails "$1: header not found"
    fi
}
# command_hidden TITLE NAME PROGRAMS: a command that is not there
command_hidden() {
    hide "/$2"
    copy_of "$work/base" copy
    if build "$work/copy" info programs $variables && says_missing "$1" && built "$work/copy" "$3"; then
        passes "$1: no $2"
    else
        fails "$1: no $2"
    fi
}
# refuses TEXT COMMAND...: exit code 2, and a line with the text
refuses() {
    text=$1
    shift
    "$@" >"$work/log" 2>&1
    code=$?
    [ $code -eq 2 ] && [ "$(wc -l <"$work/log")" -eq 1 ] && grep -q -e "$text" "$work/log"
}
problem="tests/validation/problems/patch_elastic.json --threads 1"

# --- the host, from what this build has compiled for it ------------------------------------------------------
variables=CUDA=no
from=${FE_BUILD:-build}
[ ! -d "$from" ] || from=$(cd "$from" && pwd)
copy_of "$from" base "${FE_BUILD:-build}"
find "$work/base" -name '*.cu.*' -delete
if build "$work/base" info programs $variables && built "$work/base" "$programs"; then
    passes 'all but CUDA is there'
else
    fails 'all but CUDA is there'
fi
peers=
if grep -q '^PETSc *found: ' "$work/log"; then
    peers=peers programs="$programs peers"
    check 'with PETSc there is peers' "$work/base/peers" --version
fi
if command -v mpicc >"$work/check"; then
    check 'an empty MPICC of the environment: MPI is found' grep -q '^MPI *found: ' "$work/log"
else
    skips 'an empty MPICC of the environment: MPI is found' 'MPI: there is no mpicc'
fi
check 'CUDA=no: make info says so' grep -q '^CUDA Toolkit *missing: .*\[CUDA=no\]' "$work/log"
check 'without CUDA solve refuses --backend cuda' refuses 'this build has no CUDA' "$work/base/solve" $problem --backend cuda

library METIS metis.h "$programs"
check 'without METIS solve refuses it' refuses METIS "$work/copy/solve" $problem --ranks 2 --partition metis
library SuperLU slu_ddefs.h "$programs"
check 'without SuperLU solve refuses it' refuses SuperLU "$work/copy/solve" $problem --precondition direct
library jansson jansson.h "meshgen scaling kernels"
library muParser muParser.h "meshgen scaling kernels"
library zlib zlib.h "meshgen scaling kernels"
build "$work/copy" tests $variables
check 'without zlib make tests says what it needs' grep -q '^the tests need .*zlib' "$work/log"
library cmocka cmocka.h "$programs"
library 'Google Benchmark' benchmark/benchmark.h "meshgen scaling solve solves $peers"
BUILD=$work/copy sh bench/bench.sh >"$work/log" 2>&1
check 'without kernels the sweep says so' grep -q "^bench: .*/kernels is not there: make info" "$work/log"
command_hidden MPI mpicc "meshgen scaling solve solves kernels"
check 'without MPI a version says so' sh -c "'$work/copy/solve' --version | grep -q '^MPI: none'"
command_hidden gnuplot gnuplot "$programs"
rm -rf "$work/results"
BUILD=$work/base RESULTS=$work/results SIZES_host='300 1000' ELEMENTS=tet4 VARIANTS='patch node_csr' REPETITIONS=2 THREADS=1 PASSES='first host' \
    MESHES_host=0 SOLVES_host=0 RANKS_host=0 seeing sh bench/bench.sh >"$work/log" 2>&1
check 'without gnuplot the sweep has tables and says so' sh -c "grep -q '^bench: gnuplot is missing' '$work/log' &&
    grep -q '^## tet4 on host' '$work'/results/*/*/table.md && [ ! -e '$work'/results/*/*/figures ]"
hide /python3
rm -rf "$work/results"
BUILD=$work/base RESULTS=$work/results SIZES_host=300 ELEMENTS=tet4 REPETITIONS=2 THREADS=1 seeing sh bench/bench.sh >"$work/log" 2>&1
check 'without Python the sweep measures one size and says so' sh -c "grep -q '^bench: there is no Python 3.11 .*no tables, figures, solves' '$work/log' &&
    grep -q ',jacvec,.*,ok\$' '$work'/results/*/*/kernels.csv"

spoil metis.h:slu_ddefs.h:jansson.h:muParser.h:zlib.h:cmocka.h:benchmark/benchmark.h:mpi.h
copy_of "$work/base" copy
if build "$work/copy" info programs $variables && [ "$(grep -c ' missing: ' "$work/log")" -ge 10 ] && built "$work/copy" "meshgen scaling"; then
    passes 'nothing but BLAS'
else
    fails 'nothing but BLAS'
fi
hide cblas.h
copy_of "$work/base" copy
build "$work/copy" info programs $variables
code=$?
check 'without BLAS make stops with a line' sh -c "[ $code -ne 0 ] && grep -q '^BLAS and LAPACKE *missing: ' '$work/log' &&
    grep -q '^nothing can be built without' '$work/log'"

# --- what several GPUs and assembled_cusparse need: from compiled CUDA code -------------------------------
hide ''
if [ "$(grep -c 'define FE_HAVE_CUDA 1' "${FE_BUILD:-build}/have/cuda.h" 2>/dev/null)" = 1 ]; then
    variables=
    library NCCL nccl.h "$programs" "$from"
    check 'with CUPTI there is trace.so' sh -c "! grep -q '^CUPTI *found: ' '$work/log' ||
        nm -D '$work/copy/trace.so' | grep -q InitializeInjection"
    check 'without NCCL there is still CUDA' grep -q '^CUDA Toolkit *found: ' "$work/log"
    check 'without NCCL a version says so' sh -c "'$work/copy/solve' --version | grep -q '^NCCL: none'"
    library cuSPARSE cusparse.h "$programs" "$from"
    library CUPTI cupti.h "$programs" "$from"
    check 'without CUPTI there is no trace.so' [ ! -e "$work/copy/trace.so" ]
    hide ''
    build "$work/copy" info NVCC_CCBIN=/nonexistent/g++
    check 'a host compiler of nvcc that is not there is named' grep -q '^CUDA Toolkit *missing: .*NVCC_CCBIN=/nonexistent/g++' "$work/log"
    build "$work/copy" info NCCL_HOME=/nonexistent
    check 'a folder without NCCL is named' grep -q '^NCCL *missing: .*NCCL_HOME=/nonexistent has no include/nccl.h' "$work/log"
else
    for title in 'a host compiler of nvcc that is not there' 'a folder without NCCL'; do skips "$title is named" "$title: this build has no CUDA"; done
    for title in NCCL cuSPARSE CUPTI; do skips "$title: header not found" "$title hidden: this build has no CUDA"; done
fi
echo "1..$n"
