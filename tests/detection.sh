#!/bin/sh
# A missing library is reported and left out, and the rest builds and runs: each optional library is hidden in turn, in two
# ways (its header is not found; its header does not compile), then all at once. Prints TAP, like the other tests.
#   sh tests/detection.sh       from the root of the repository; FE_BUILD: a build to take compiled CUDA code from
#
# A library is hidden from the compilers by wrappers of their names in front of PATH; nothing of the machine changes.
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

# --- compilers that do not find a header -----------------------------------------------------------------
mkdir -p "$work/bin"
cp -s /usr/local/bin/* /usr/bin/* /bin/* "$work/bin/" 2>/dev/null
real_of() { PATH=$path command -v "$1"; }
path=$PATH
wrap() { # HOW HEADER COMPILER...: HOW is hidden or broken, or none
    how=$1 header=$2
    shift 2
    for compiler in "$@"; do
        real=$(real_of "$compiler") || continue
        rm -f "$work/bin/$compiler"
        {
            echo '#!/bin/sh'
            if [ "$how" = broken ]; then
                echo "exec $real -I$work/broken \"\$@\""
            elif [ "$how" = hidden ]; then
                case $compiler in g++ | c++) echo "system="$(system_of "$real" c++ "$header") ;; *) echo "system="$(system_of "$real" c "$header") ;; esac
                echo 'for word; do'
                echo '    shift'
                echo '    case $word in'
                echo "    -I/*) [ ! -e \"\${word#-I}/$header\" ] || word=-I$work/shadow\${word#-I} ;;"
                echo "    /*) [ ! -e \"\$word/$header\" ] || word=$work/shadow\$word ;;"
                # what nvcc asks of its host compiler
                echo "    c++) system="$(system_of "$real" c++ "$header")" ;;"
                echo '    esac'
                echo '    set -- "$@" "$word"'
                echo 'done'
                echo "exec $real \$system \"\$@\""
            else
                echo "exec $real \"\$@\""
            fi
        } >"$work/bin/$compiler"
        chmod +x "$work/bin/$compiler"
    done
}
system_of() { # COMPILER LANGUAGE HEADER: its own folders of headers, without this one
    echo '"-nostdinc'
    for folder in $(echo | "$1" -x "$2" -E -v - 2>&1 | sed -n '/^#include </,/^End of/p' | grep '^ '); do
        echo "-isystem $(without "$folder" "$3")"
    done
    echo '"'
}
without() { # FOLDER HEADER: the folder, or links to all it holds but the header
    if [ -e "$1/$2" ]; then
        [ -d "$work/shadow$1" ] || { mkdir -p "$work/shadow$1" && cp -rs "$1/." "$work/shadow$1/"; }
        rm -f "$work/shadow$1/$2"
        echo "$work/shadow$1"
    else
        echo "$1"
    fi
}
hide() { # HOW HEADER
    rm -rf "$work/shadow" "$work/broken"
    mkdir -p "$work/broken/$(dirname "$2")"
    echo '#error "this header does not compile"' >"$work/broken/$2"
    # folders that are named on the command line
    for folder in "${CUDA_HOME:-/usr/local/cuda}/include" /usr/local/cuda*/include ${NCCL_HOME:+"$NCCL_HOME/include"}; do
        [ ! -d "$folder" ] || without "$(cd "$folder" && pwd -P)" "$2" >"$work/log"
    done
    wrap "$1" "$2" gcc g++ cc c++ ${CC:-} ${CXX:-}
}

# make with what is hidden. The jobs of a make above are its own. MPICC is empty, as from a make that started before MPI
# was installed.
build() { # BUILD TARGET... [VARIABLE=VALUE...]
    folder=$1
    shift
    MAKEFLAGS=$(echo "${MAKEFLAGS:-}" | sed 's/--jobserver[^ ]*//g; s/-j[0-9]*//g; s/\(^\| \)--( |$)//') PATH=$work/bin \
        MPICC= make --no-print-directory -j"$(nproc)" BUILD="$folder" "$@" >"$work/log" 2>&1
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
copy_of() { # FOLDER NAME [AS]: the objects and what was found, without programs; AS: what the folder was called when built
    rm -rf "$work/$2"
    cp -a "$1" "$work/$2" && for program in $programs libfebench.a tests; do rm -rf "${work:?}/$2/$program"; done
    find "$work/$2/obj" -name '*.d' -exec sed -i "s#\(^\| \)${3:-$1}/#\1$work/$2/#g" {} +
}
says_missing() { # TITLE: make info's line
    grep -q "^$1 *missing: " "$work/log"
}
# library TITLE HEADER PROGRAMS [FROM]: detection in both ways; programs without it where the header is not found
library() {
    hide broken "$2"
    rm -rf "$work/copy" && mkdir "$work/copy"
    if build "$work/copy" info $variables && says_missing "$1"; then passes "$1: header broken"; else fails "$1: header broken"; fi
    hide hidden "$2"
    copy_of "${4:-$work/base}" copy ${4:+"${FE_BUILD:-build}"}
    if build "$work/copy" info programs $variables && says_missing "$1" && built "$work/copy" "$3"; then
        passes "$1: header not found"
    else
        fails "$1: header not found"
    fi
}
# command TITLE NAME PROGRAMS: a command that is not there
command_hidden() {
    wrap none none gcc g++ cc c++
    rm -f "$work/bin/$2"
    copy_of "$work/base" copy
    if build "$work/copy" info programs $variables && says_missing "$1" && built "$work/copy" "$3"; then
        passes "$1: no $2"
    else
        fails "$1: no $2"
    fi
    real=$(real_of "$2") && ln -s "$real" "$work/bin/$2"
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

# --- the host, quickly compiled ---------------------------------------------------------------------------
variables="OPT=-O0 CUDA=no"
wrap none none gcc g++ cc c++
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
if real_of mpicc >"$work/check"; then
    check 'an empty MPICC of the environment: MPI is found' grep -q '^MPI *found: ' "$work/log"
else
    skips 'an empty MPICC of the environment: MPI is found' 'MPI: there is no mpicc'
fi
check 'CUDA=no: make info says so' grep -q '^CUDA Toolkit *missing: .*\[CUDA=no\]' "$work/log"
check 'without CUDA solve refuses --backend cuda' refuses 'this build has no CUDA' "$work/base/solve" $problem --backend cuda

library METIS metis.h "$programs"
check 'without METIS solve refuses it' refuses METIS "$work/copy/solve" $problem --ranks 2 --partition metis
library jansson jansson.h "meshgen scaling kernels"
library muParser muParser.h "meshgen scaling kernels"
library zlib zlib.h "meshgen scaling kernels"
build "$work/copy" tests $variables
check 'without zlib make tests says what it needs' grep -q '^the tests need .*zlib' "$work/log"
library cmocka cmocka.h "$programs"
library 'Google Benchmark' benchmark/benchmark.h "meshgen scaling solve solves $peers"
BUILD=$work/copy sh bench/sweep.sh >"$work/log" 2>&1
check 'without kernels the sweep says so' grep -q "^bench: .*/kernels is not there: make info" "$work/log"
command_hidden MPI mpicc "meshgen scaling solve solves kernels"
check 'without MPI a version says so' sh -c "'$work/copy/solve' --version | grep -q '^MPI: none'"
command_hidden gnuplot gnuplot "$programs"
PATH=$work/bin
rm -f "$work/bin/gnuplot"
sh plots/plots.sh "$work" >"$work/log" 2>&1
PATH=$path
check 'without gnuplot plots say so' grep -q '^plots: gnuplot is not there' "$work/log"

hide broken metis.h
for header in jansson.h muParser.h zlib.h cmocka.h benchmark/benchmark.h mpi.h; do
    mkdir -p "$work/broken/$(dirname $header)" && cp "$work/broken/metis.h" "$work/broken/$header"
done
copy_of "$work/base" copy
if build "$work/copy" info programs $variables && [ "$(grep -c ' missing: ' "$work/log")" -ge 9 ] && built "$work/copy" "meshgen scaling"; then
    passes 'nothing but BLAS'
else
    fails 'nothing but BLAS'
fi
hide hidden cblas.h
copy_of "$work/base" copy
build "$work/copy" info programs $variables
code=$?
check 'without BLAS make stops with a line' sh -c "[ $code -ne 0 ] && grep -q '^BLAS and LAPACKE *missing: ' '$work/log' &&
    grep -q '^nothing can be built without' '$work/log'"

# --- what several GPUs and assembled_cusparse need: from compiled CUDA code -------------------------------
wrap none none gcc g++ cc c++
if [ "$(grep -c 'define FE_HAVE_CUDA 1' "${FE_BUILD:-build}/have/cuda.h" 2>/dev/null)" = 1 ]; then
    variables=
    from=$(cd "${FE_BUILD:-build}" && pwd)
    library NCCL nccl.h "$programs" "$from"
    check 'without NCCL there is still CUDA' grep -q '^CUDA Toolkit *found: ' "$work/log"
    check 'without NCCL a version says so' sh -c "'$work/copy/solve' --version | grep -q '^NCCL: none'"
    library cuSPARSE cusparse.h "$programs" "$from"
    wrap none none gcc g++ cc c++
    build "$work/copy" info NVCC_CCBIN=/nonexistent/g++
    check 'a host compiler of nvcc that is not there is named' grep -q '^CUDA Toolkit *missing: .*NVCC_CCBIN=/nonexistent/g++' "$work/log"
    build "$work/copy" info NCCL_HOME=/nonexistent
    check 'a folder without NCCL is named' grep -q '^NCCL *missing: .*NCCL_HOME=/nonexistent has no include/nccl.h' "$work/log"
else
    for title in 'a host compiler of nvcc that is not there' 'a folder without NCCL'; do skips "$title is named" "$title: this build has no CUDA"; done
    for title in NCCL cuSPARSE; do skips "$title: header not found" "$title hidden: this build has no CUDA"; done
fi
echo "1..$n"
