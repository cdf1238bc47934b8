#!/bin/sh
# Finds the compilers and libraries of this machine for the Makefile. Each library is found when a small program
# that uses it compiles, links and runs; that a file has the right name is not enough.
#
#   CC=… CXX=… NVCC=… packaging/detect.sh FOLDER
#
# writes into FOLDER
#   config.mk         make variables: HAVE_X (yes or empty), X_FLAGS (to compile), X_LIBS (to link), X_NOTE (for make info)
#   have/x.h          #define FE_HAVE_X 0 or 1; rewritten only when that changes, so that only its users are rebuilt
#   detect/x.log      what the compilers said
#
# Environment: CC CXX NVCC CUDA CUDA_HOME CUDA_ARCHS NCCL_HOME MPICC PYTHON CPPFLAGS CFLAGS CXXFLAGS LDFLAGS, as the Makefile
# hands them on; NVCC_CCBIN, nvcc's host compiler, is nvcc's own variable. Compilers may have arguments ("ccache gcc").
set -u
export LC_ALL=C
out=$1 work=$1/detect
CC=${CC:-cc} CXX=${CXX:-c++} NVCC=${NVCC:-} CUDA=${CUDA:-} CUDA_HOME=${CUDA_HOME:-} NCCL_HOME=${NCCL_HOME:-}
CUDA_ARCHS=${CUDA_ARCHS:-} MPICC=${MPICC:-} LDFLAGS=${LDFLAGS:-}
c_flags="${CPPFLAGS:-} ${CFLAGS:-}" cxx_flags="-std=c++17 ${CPPFLAGS:-} ${CXXFLAGS:-}"
rm -rf "$work"
mkdir -p "$work" "$out/have" || exit 1

# assign NAME VALUE: one line of a library's part of config.mk
assign() { printf '%s := %s\n' "$1" "$(echo $2)" | sed 's/[$]/$$/g; s/#/\\#/g' >>"$work/$library.mk"; }
found() { # VERSION FLAGS LIBS
    assign "HAVE_$library" yes
    assign "${library}_NOTE" "$1"
    assign "${library}_FLAGS" "$2"
    assign "${library}_LIBS" "$3"
}
missing() { # WHY
    assign "HAVE_$library" ''
    assign "${library}_NOTE" "$1"
}
first_error() { # of the log: the line to tell
    grep -iE -m 1 'error|not found|cannot|undefined|fatal|no such file' "$work/$library.log" | cut -c1-160 || true
}

# probe LANGUAGE FLAGS LIBS: compiles, links and runs $work/$library.c; it prints a version. 1: it does not.
probe() {
    case $1 in
    c) compile="$CC $c_flags" suffix=c ;;
    c++) compile="$CXX $cxx_flags" suffix=cc ;;
    mpi) compile="env OMPI_CC=$(quote "$CC") MPICH_CC=$(quote "$CC") $MPICC $c_flags" suffix=c ;;
    esac
    echo "+ $compile $2 $library.$suffix $LDFLAGS $3" >>"$work/$library.log"
    eval "$compile $2 -o '$work/$library' '$work/$library.$suffix' $LDFLAGS $3" >>"$work/$library.log" 2>&1 &&
        "$work/$library" >"$work/$library.version" 2>>"$work/$library.log"
}
quote() { printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"; }
# choose LANGUAGE "FLAGS|LIBS"...: the first choice that works
choose() {
    language=$1
    shift
    for choice in "$@"; do
        if probe "$language" "${choice%%|*}" "${choice#*|}"; then
            found "$(head -n 1 "$work/$library.version")" "${choice%%|*}" "${choice#*|}"
            return 0
        fi
    done
    missing "$(first_error)"
    return 1
}
# package NAME: "FLAGS|LIBS" as pkg-config has them, else the given
package() {
    if command -v pkg-config >/dev/null 2>&1 && pkg-config --exists "$1" 2>/dev/null; then
        # it names folders that are not the system's own alone: programs find their libraries there, too
        echo "$(pkg-config --cflags "$1")|$(pkg-config --libs "$1" | sed 's/-L\([^ ]*\)/& -Wl,-rpath,\1/g')"
    else
        echo "$2"
    fi
}

compiler() { # C with OpenMP and vector types: without it nothing can be built
    library=COMPILER
    cat >"$work/COMPILER.c" <<'EOF'
#include <omp.h>
#include <stdio.h>
typedef double real __attribute__((vector_size(64)));
int main(void)
{
    real x = {1, 2, 3, 4, 5, 6, 7, 8};
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 8; i++) sum += x[i];
#ifdef __clang__
    printf("clang %s\n", __clang_version__);
#else
    printf("gcc %s\n", __VERSION__);
#endif
    return !(sum == 36.0 && omp_get_max_threads() > 0);
}
EOF
    choose c '-fopenmp|-fopenmp'
}

blas() {
    library=BLAS
    cat >"$work/BLAS.c" <<'EOF'
#include <cblas.h>
#include <lapacke.h>
#include <stdio.h>
#ifdef OPENBLAS_VERSION
#define NAME OPENBLAS_VERSION
#else
#define NAME "CBLAS and LAPACKE"
#endif
int main(void)
{
    double a[4] = {2, 0, 0, 4}, b[2] = {2, 4};
    lapack_int pivot[2];
    if (LAPACKE_dgesv(LAPACK_COL_MAJOR, 2, 1, a, 2, pivot, b, 2)) return 1;
    puts(NAME);
    return cblas_ddot(2, b, 1, b, 1) != 2.0;
}
EOF
    choose c '|-llapacke -lopenblas' '|-lopenblas' "$(package openblas '-I/usr/include/openblas|-lopenblas')" \
        '|-llapacke -llapack -lcblas -lblas' '|-llapacke -llapack -lblas'
}

json() {
    library=JSON
    cat >"$work/JSON.c" <<'EOF'
#include <jansson.h>
#include <stdio.h>
int main(void)
{
    json_t *j = json_pack("{s:i}", "a", 1);
    puts(JANSSON_VERSION);
    return !j;
}
EOF
    choose c "$(package jansson '|-ljansson')"
}

expression() {
    library=EXPRESSION
    cat >"$work/EXPRESSION.cc" <<'EOF'
#include <iostream>
#include <muParser.h>
int main()
{
    mu::Parser p;
    std::cout << p.GetVersion(mu::pviBRIEF) << std::endl;
    return 0;
}
EOF
    # The programs are linked by the C compiler.
    choose c++ '|-lmuparser -lstdc++' "$(package muparser '|-lmuparser') -lstdc++" '|-lmuparser -lc++'
}

zlib() {
    library=ZLIB
    cat >"$work/ZLIB.c" <<'EOF'
#include <stdio.h>
#include <zlib.h>
int main(void) { return puts(zlibVersion()) < 0; }
EOF
    choose c "$(package zlib '|-lz')"
}

superlu() { # sequential SuperLU, 5 or newer
    library=SUPERLU
    cat >"$work/SUPERLU.c" <<'EOF'
#include <slu_ddefs.h>
#include <stdio.h>
int main(void)
{
    GlobalLU_t shared;
    superlu_options_t options;
    set_default_options(&options);
    options.SymmetricMode = YES;
#ifdef SUPERLU_MAJOR_VERSION
    printf("SuperLU %d.%d.%d\n", SUPERLU_MAJOR_VERSION, SUPERLU_MINOR_VERSION, SUPERLU_PATCH_VERSION);
#else
    puts("SuperLU");
#endif
    return sizeof shared == 0 || sp_ienv(1) < 1;
}
EOF
    choose c "$(package superlu '-I/usr/include/superlu|-lsuperlu')" '-I/usr/include/superlu|-lsuperlu' '|-lsuperlu'
}

metis() {
    library=METIS
    cat >"$work/METIS.c" <<'EOF'
#include <metis.h>
#include <stdio.h>
int main(void)
{
    idx_t options[METIS_NOPTIONS];
    printf("%d.%d.%d\n", METIS_VER_MAJOR, METIS_VER_MINOR, METIS_VER_SUBMINOR);
    return METIS_SetDefaultOptions(options) != METIS_OK;
}
EOF
    choose c "$(package metis '|-lmetis')"
}

cmocka() {
    library=CMOCKA
    cat >"$work/CMOCKA.c" <<'EOF'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
static void test(void **state) { assert_null(*state); }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
EOF
    choose c "$(package cmocka '|-lcmocka')" && note_version cmocka
}
# note_version NAME: pkg-config's version, where the library has none of its own to print
note_version() {
    sed -i '/_NOTE/d' "$work/$library.mk"
    assign "${library}_NOTE" "$(pkg-config --modversion "$1" 2>/dev/null || echo 'version unknown (no pkg-config)')"
}

benchmark() {
    library=BENCHMARK
    cat >"$work/BENCHMARK.cc" <<'EOF'
#include <benchmark/benchmark.h>
static void nothing(benchmark::State &state) { for (auto _ : state) benchmark::ClobberMemory(); }
BENCHMARK(nothing)->Iterations(1);
int main(int argc, char **argv)
{
    benchmark::Initialize(&argc, argv);
    return benchmark::RunSpecifiedBenchmarks() != 1;
}
EOF
    choose c++ "$(package benchmark '|-lbenchmark -lpthread')" '|-lbenchmark -lpthread' && note_version benchmark
}

mpi() {
    library=MPI
    if [ -z "$MPICC" ] || ! command -v "$MPICC" >/dev/null 2>&1; then
        missing "${MPICC:-mpicc} was not found"
        return
    fi
    cat >"$work/MPI.c" <<'EOF'
#include <mpi.h>
#include <stdio.h>
#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)
int main(void)
{
    int started;
#if defined OMPI_MAJOR_VERSION
    puts("Open MPI " TEXT(OMPI_MAJOR_VERSION) "." TEXT(OMPI_MINOR_VERSION) "." TEXT(OMPI_RELEASE_VERSION));
#elif defined MPICH_VERSION
    puts("MPICH " MPICH_VERSION);
#else
    puts("MPI " TEXT(MPI_VERSION) "." TEXT(MPI_SUBVERSION));
#endif
    return MPI_Initialized(&started) != MPI_SUCCESS;
}
EOF
    choose mpi '|'
}

petsc() { # with MPI, with or without hypre and CUDA; optional
    library=PETSC
    if [ -z "$MPICC" ] || ! command -v "$MPICC" >/dev/null 2>&1; then
        missing 'needs MPI'
        return
    fi
    cat >"$work/PETSC.c" <<'EOF'
#include <petscksp.h>
#include <stdio.h>
int main(void)
{
    PetscErrorCode (*const create)(MPI_Comm, KSP *) = KSPCreate; /* linked, not called */
#ifdef PETSC_HAVE_HYPRE
    const char *hypre = "with hypre";
#else
    const char *hypre = "without hypre";
#endif
#if defined PETSC_HAVE_CUDA && defined PETSC_HAVE_HYPRE_DEVICE
    const char *where = "both on GPUs";
#elif defined PETSC_HAVE_CUDA
    const char *where = "PETSc on GPUs";
#else
    const char *where = "on the host";
#endif
    printf("%d.%d.%d %s, %s\n", PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, hypre, where);
    return create == NULL;
}
EOF
    choose mpi "$(package petsc '-I/usr/include/petsc|-lpetsc')"
}

# The folder behind a flag of nvcc's own dry run: where its headers and libraries are, however it was installed.
dry_run() { # NAME PREFIX
    $NVCC --dryrun -x cu /dev/null -c 2>&1 | sed -n "s/^#\\$ $1=//p" | tr '" ' '\n\n' | sed -n "s/^$2//p" |
        grep -v '/stubs$' | while read -r folder; do [ ! -d "$folder" ] || (cd "$folder" && pwd -P); done | head -n 1
}

# The architectures to compile for: those requested, otherwise those of the GPUs found, otherwise 90 with PTX.
architectures() {
    [ -z "$CUDA_ARCHS" ] || { echo "$CUDA_ARCHS" && return; }
    { nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null || true; } |
        sed -n 's/^\([0-9]*\)\.\([0-9]\)$/\1\2/p' | sort -un | tr '\n' ' '
}

cuda() {
    library=CUDA
    : >"$work/CUDA.log"
    if [ "$CUDA" = no ]; then
        missing 'CUDA=no'
        return
    elif [ -z "$NVCC" ] || ! command -v "${NVCC%% *}" >/dev/null 2>&1; then
        missing "${NVCC:-nvcc} was not found (PATH, CUDA_HOME, NVCC)"
        return
    fi
    version=$($NVCC --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
    if ! echo "${version:-0}" | awk -F. '{ exit !($1 > 12 || ($1 == 12 && $2 >= 4)) }'; then
        missing "$NVCC is ${version:-no CUDA compiler}; 12.4 or newer is needed"
        return
    fi
    known=$($NVCC --list-gpu-code 2>/dev/null | sed 's/^sm_//' | tr '\n' ' ')
    archs=$(architectures) why=
    for arch in $archs; do
        case " $known " in
        *" $arch "*) ;;
        *)
            if [ -n "$CUDA_ARCHS" ]; then
                missing "CUDA_ARCHS has $arch; nvcc $version compiles for $known"
                return
            fi # a GPU that is newer than the toolkit takes PTX
            archs= why=', PTX for a newer GPU' ;;
        esac
    done
    generate=
    for arch in $archs; do generate="$generate -gencode arch=compute_$arch,code=sm_$arch"; done
    if [ -z "$archs" ]; then
        archs=90 generate="-gencode arch=compute_90,code=[sm_90,compute_90]" why="${why:-, no GPU seen}"
    fi
    include=$(dry_run INCLUDES -I)
    folder=$(dry_run LIBRARIES -L)
    [ -n "$include" ] || include=$CUDA_HOME/include
    cat >"$work/CUDA.cu" <<'EOF'
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <stdio.h>
__global__ void add(double *x) { atomicAdd(x, 1.0); }
extern "C" int probe(void)
{
    cublasStatus_t (*const create)(cublasHandle_t *) = cublasCreate; /* linked, not called: there may be no GPU */
    int n = 0;
    if (cudaGetDeviceCount(&n) == cudaSuccess && n < 0) add<<<1, 1>>>(NULL);
    printf("%d\n", CUDART_VERSION);
    return create == NULL;
}
EOF
    echo 'int probe(void); int main(void) { return probe(); }' >"$work/CUDA.c"
    # nvcc takes some host compilers only: the requested one; otherwise its own default, then older ones that may be there
    hosts='g++-13 g++-12 g++-11 clang++-17 clang++-16 clang++-15 clang++-14'
    [ -z "${NVCC_CCBIN:-}" ] || hosts=
    for host in '' $hosts; do
        [ -z "$host" ] || command -v "$host" >/dev/null 2>&1 || continue
        ccbin=${host:+-ccbin $host}
        echo "+ $NVCC -std=c++17 $ccbin $generate -c CUDA.cu" >>"$work/CUDA.log"
        $NVCC -std=c++17 $ccbin $generate -c "$work/CUDA.cu" -o "$work/CUDA.o" >>"$work/CUDA.log" 2>&1 || continue
        libraries="${folder:+-L$folder -Wl,-rpath,$folder} -lcudart_static -ldl -lrt -lpthread -lstdc++"
        case $folder in /usr/lib | /usr/lib64 | /usr/lib/*-linux-gnu) libraries=${libraries#*,"$folder" } ;; esac
        # cuBLAS is loaded by those who use it (common/backend/cublas.c)
        if probe c '' "'$work/CUDA.o' -lcublas $libraries"; then
            found "$version ($NVCC, sm_$(echo $archs | sed 's/ /, sm_/g')$why${host:+, host compiler $host})" \
                "$([ "$include" = /usr/include ] || echo "-I$include")" "$libraries"
            assign CUDA_VERSION "$version"
            assign CUDA_GENERATE "$generate"
            assign CUDA_CCBIN "$ccbin"
            return
        fi
        break
    done
    missing "nvcc $version${NVCC_CCBIN:+, NVCC_CCBIN=$NVCC_CCBIN}: $(first_error)"
}

# searched FOLDER: the flags to link libraries there, and to find them when a program starts
searched() { case $1 in '' | /usr/lib | /usr/lib64 | /usr/lib/*-linux-gnu) ;; *) echo "-L$1 -Wl,-rpath,$1" ;; esac; }

# Parts of the Toolkit, or libraries installed with it; after cuda()
beside_cuda() {
    if ! grep -q '^HAVE_CUDA := yes' "$work/CUDA.mk"; then
        for library in CUSPARSE CUPTI NCCL; do missing 'needs the CUDA Toolkit'; done
        return
    fi
    flags=$(sed -n 's/^CUDA_FLAGS := //p' "$work/CUDA.mk") libs=$(sed -n 's/^CUDA_LIBS := //p' "$work/CUDA.mk")
    library=CUSPARSE
    cat >"$work/CUSPARSE.c" <<'EOF'
#include <cusparse.h>
#include <stdio.h>
int main(void)
{
    cusparseStatus_t (*const create)(cusparseHandle_t *) = cusparseCreate;
    printf("%d.%d.%d\n", CUSPARSE_VER_MAJOR, CUSPARSE_VER_MINOR, CUSPARSE_VER_PATCH);
    return create == NULL;
}
EOF
    choose c "$flags|-lcusparse $libs" || true
    library=CUPTI # beside the Toolkit's other libraries, or in a folder of its own
    cat >"$work/CUPTI.c" <<'EOF'
#include <cupti.h>
#include <stdio.h>
int main(void)
{
    uint32_t version = 0;
    CUpti_ActivityKernel9 kernel = {.graphNodeId = 0};
    CUpti_ActivityMemcpy5 copy = {.graphNodeId = 0};
    CUpti_ActivityMemcpyPtoP4 peer = {.graphNodeId = 0};
    CUpti_ActivityMemset4 set = {.graphNodeId = 0};
    if (cuptiGetVersion(&version) != CUPTI_SUCCESS) return 1;
    printf("API %u\n", version);
    return kernel.graphNodeId + copy.graphNodeId + peer.graphNodeId + set.graphNodeId != 0;
}
EOF
    extras=$(cd "$(dirname "$(command -v "${NVCC%% *}")")/.." && pwd -P)/extras/CUPTI
    choose c "$flags|$(searched "$folder") -lcupti" \
        "-I$extras/include $flags|$(searched "$extras/lib64") $(searched "$folder") -lcupti" || true
    library=NCCL
    cat >"$work/NCCL.c" <<'EOF'
#include <nccl.h>
#include <stdio.h>
int main(void)
{
    int version = 0;
    if (ncclGetVersion(&version) != ncclSuccess) return 1;
    printf("%d.%d.%d\n", version / 10000, version / 100 % 100, version % 100);
    return 0;
}
EOF
    if [ -n "$NCCL_HOME" ] && [ ! -e "$NCCL_HOME/include/nccl.h" ]; then
        missing "NCCL_HOME=$NCCL_HOME has no include/nccl.h"
    elif [ -n "$NCCL_HOME" ]; then
        choose c "-I$NCCL_HOME/include $flags|-L$NCCL_HOME/lib -Wl,-rpath,$NCCL_HOME/lib -lnccl $libs" || true
    else
        choose c "$flags|-lnccl $libs" || true
    fi
}

gnuplot_terminals() {
    library=GNUPLOT
    if ! command -v gnuplot >/dev/null 2>&1; then
        missing 'gnuplot was not found'
    elif ! gnuplot -e 'set terminal svg; set terminal pngcairo' >"$work/GNUPLOT.log" 2>&1; then
        missing "it draws no SVG or PNG: $(first_error)"
    else
        found "$(gnuplot --version | sed 's/^gnuplot //')" '' ''
    fi
}

# What turns rows into answers needs Python 3.11 and libraries; the first that has them all.
python() {
    library=PYTHON
    : >"$work/PYTHON.log"
    for command in ${PYTHON:+"$PYTHON"} python3 /usr/bin/python3; do
        "$command" -c 'import sys, tomllib, numpy, scipy, jinja2
print(f"{sys.version.split()[0]}, NumPy {numpy.__version__}, SciPy {scipy.__version__}")' \
            >"$work/PYTHON.version" 2>>"$work/PYTHON.log" || continue
        found "$(cat "$work/PYTHON.version")" '' ''
        assign PYTHON_COMMAND "$command"
        return
    done
    missing "$(tail -n 1 "$work/PYTHON.log" | cut -c1-160)"
}

for find in compiler blas json expression zlib superlu metis cmocka benchmark mpi petsc gnuplot_terminals python; do $find & done
{ cuda; beside_cuda; } &
wait

libraries="COMPILER BLAS JSON EXPRESSION ZLIB SUPERLU METIS CMOCKA BENCHMARK MPI PETSC GNUPLOT PYTHON CUDA CUSPARSE CUPTI NCCL"
for library in $libraries; do
    cat "$work/$library.mk"
    name=$(echo $library | tr A-Z a-z) have=$(grep -c "^HAVE_$library := yes" "$work/$library.mk")
    text="#define FE_HAVE_$library $have"
    [ "$(cat "$out/have/$name.h" 2>/dev/null)" = "$text" ] || echo "$text" >"$out/have/$name.h"
done >"$out/config.mk.new" && mv "$out/config.mk.new" "$out/config.mk"
