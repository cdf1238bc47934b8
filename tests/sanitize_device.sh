#!/bin/sh
# compute-sanitizer, memcheck, racecheck, initcheck and synccheck, over
#   - whole small solves: each strategy on 27 Hex8, 48 Tet4, and as many Hex27 and Tet10, one load step with yielding;
#     also multigrid, GMRES, finite differences and fields, and under memcheck several GPUs where they are there, by peer
#     memory and by NCCL. NCCL tries kernels that its library has not for the card, and peers that it has met before: it
#     handles these errors of calls (104 and more), so they do not count there;
#   - all operations of each strategy on boxes of 4 000 degrees of freedom in lexicographic order, so that kernels of boxes run,
#     with tangents of 21 numbers, and on Tet4 with four points and Hex8 without tables.
#   sh tests/sanitize_device.sh [TOOL...]    from the root, after `make build/solve build/meshgen build/kernels`
#   FE_BUILD=build  JOBS=8 runs at a time  LIMIT=240 seconds, after which no run begins  ONE=90 seconds for one run
#   ONLY=PATTERN    runs whose "TOOL NAME" a pattern of grep matches
# The last line reads "compute-sanitizer: N passed, N failed, N skipped".
set -u
export LC_ALL=C OMP_NUM_THREADS=1
build=$(cd "${FE_BUILD:-build}" && pwd) || exit 2
JOBS=${JOBS:-8} LIMIT=${LIMIT:-240} ONE=${ONE:-90}

# One run: TOOL NAME PROGRAM FLAGS...
if [ "${1:-}" = --one ]; then
    tool=$2 name=$3 program=$4
    shift 4
    cd "$FE_SANITIZE_WORK" || exit 1
    [ $(($(date +%s) - FE_SANITIZE_BEGIN)) -lt "$LIMIT" ] || { echo "skip $tool $name: no time is left"; exit 0; }
    start=$(date +%s)
    more=
    case $name in ranks*) more='--report-api-errors no' ONE=560 ;; esac
    # cuSPARSE's own kernel for blocks (bsrmv) is told to race; ours beside it are checked.
    case $tool-$name in racecheck-assembled_cusparse*) more='--kernel-name-exclude kns=bsrmv' ;; esac
    case $program in
        solve) set -- p.json --backend cuda --result "$tool-$name.json" "$@" ;;
        kernels) set -- --fe_backend=cuda --fe_machine=machine.csv --benchmark_repetitions=1 --benchmark_min_time=0.00001 "$@" ;;
    esac
    # By KILL, and all of it: after TERM the tool ends, and a solve under it would go on and hold the GPU.
    timeout -s KILL "$ONE" compute-sanitizer --tool "$tool" $more --error-exitcode 9 "$build/$program" "$@" \
        >"log-$tool-$name" 2>&1
    code=$?
    took=$(($(date +%s) - start))
    if [ $code -eq 0 ] && grep -q '^========= .*ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "log-$tool-$name"; then
        echo "ok $tool $name ($took s)"
    else
        echo "FAILED $tool $name: exit code $code after $took s: $(grep '^=====' "log-$tool-$name" | sed -n '2,6p' | tr '\n' ' ')"
    fi
    exit 0
fi

nvidia-smi -L 2>/dev/null | grep -q '^GPU ' || { echo 'compute-sanitizer: skipped, no GPU'; exit 0; }
command -v compute-sanitizer >/dev/null || { echo 'compute-sanitizer: skipped, it was not found (CUDA Toolkit)'; exit 0; }
for program in solve meshgen kernels; do
    [ -x "$build/$program" ] || { echo "compute-sanitizer: $build/$program is missing: make $build/$program" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- memcheck racecheck initcheck synccheck
gpus=$(nvidia-smi -L | grep -c '^GPU ')
[ -z "${CUDA_VISIBLE_DEVICES:-}" ] || gpus=$(echo "$CUDA_VISIBLE_DEVICES" | tr ',' '\n' | grep -c .)
self=$(cd "$(dirname "$0")" && pwd)/sanitize_device.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
FE_SANITIZE_BEGIN=$(date +%s) FE_SANITIZE_WORK=$work FE_BUILD=$build
export FE_SANITIZE_BEGIN FE_SANITIZE_WORK FE_BUILD LIMIT ONE
cd "$work" || exit 1
"$build/meshgen" box -c 3 -d 0.2 -o hex8.msh >/dev/null && "$build/meshgen" box -c 2 -e tet4 -d 0.2 -o tet4.msh >/dev/null ||
    exit 1
quadratic=
if "$build/meshgen" quadratic hex8.msh -o hex27.msh >/dev/null 2>&1; then # unless the build leaves them out
    "$build/meshgen" quadratic tet4.msh -o tet10.msh >/dev/null || exit 1
    quadratic='tet10 hex27'
fi
cat >p.json <<'END'
{"name": "cube", "meshes": ["hex8.msh"], "material": {"E": 200000, "nu": 0.3, "sigma_y": 250, "H": 2000},
 "dirichlet": [{"group": "x0", "u": {"x": 0, "y": 0, "z": 0}}], "neumann": [{"group": "x1", "traction": [60, 0, 40]}],
 "paths": {"load": [2]}}
END
# Ceilings, once and without a tool.
"$build/kernels" --fe_backend=cuda --fe_machine=machine.csv --fe_dofs=1000 --fe_variants=element_atomic \
    --fe_operations=residual --benchmark_repetitions=1 >log-machine 2>&1 || { cat log-machine >&2; exit 1; }
variants=$("$build/solve" --list | sed -n 's/^\([A-Za-z0-9_]*\) .* cuda).*/\1/p')
[ -n "$variants" ] || { echo 'compute-sanitizer: this build has no strategy for CUDA' >&2; exit 2; }
linear=residual,material,jacvec_elastic,jacvec,diagonal,jacvec_full
for tool; do
    for variant in $variants; do
        echo "$tool $variant-hex8 solve --variant $variant --precondition block-jacobi"
        echo "$tool $variant-tet4 solve --variant $variant --precondition block-jacobi --no-graphs --mesh tet4.msh"
        echo "$tool $variant-box kernels --fe_variants=$variant --fe_elements=tet4,hex8 --fe_dofs=4000 --fe_order=lexicographic --fe_operations=$linear"
        echo "$tool $variant-redundant kernels --fe_variants=$variant --fe_elements=tet4_p4,hex8_naive --fe_dofs=4000 --fe_order=lexicographic"
        for element in $quadratic; do # a few iterations: racecheck takes minutes for all of a solve
            echo "$tool $variant-$element solve --variant $variant --precondition block-jacobi --mesh $element.msh --fixed-work --newton-iterations 3 --krylov-iterations 10"
        done
    done
    for element in $quadratic; do
        echo "$tool multigrid-$element solve --variant patch --precondition multigrid --mesh $element.msh"
    done
    echo "$tool multigrid-hex8 solve --variant patch --precondition multigrid --output fields-$tool"
    echo "$tool multigrid-tet4 solve --variant node_csr --precondition multigrid --mesh tet4.msh --tet-points 4"
    echo "$tool gmres solve --variant patch --precondition chebyshev --krylov gmres --orthogonalization dcgs2"
    echo "$tool difference solve --variant patch --precondition block-jacobi --jacobian difference --krylov-tolerance 1e-3"
    [ "$tool" = memcheck ] || continue
    for ranks in 2 4; do
        [ "$gpus" -ge $ranks ] || continue
        few= # not at the end: xargs would join a line that ends with a blank with the next one
        # they wait for each other so long that all of a solve did not end in 300 s
        [ $ranks -lt 4 ] || few='--fixed-work --newton-iterations 2 --krylov-iterations 4'
        for transport in peer nccl; do
            echo "$tool ranks$ranks-$transport solve --variant patch --precondition multigrid --transport $transport $few --ranks $ranks --timeout 540"
        done
    done
done | grep -- "${ONLY:-.}" >plan
[ -s plan ] || { echo "compute-sanitizer: no run matches ONLY=${ONLY:-}" >&2; exit 2; }

# What ended, also where the rest is interrupted. Fails unless all of the plan did, without a fault.
conclude() {
    grep -v '^ok' done
    passed=$(grep -c '^ok' done) failed=$(grep -c '^FAILED' done) skipped=$(grep -c '^skip' done) planned=$(wc -l <plan)
    [ $((passed + failed + skipped)) -eq "$planned" ] || { echo "only $((passed + failed + skipped)) of $planned runs ended" && failed=$((failed + 1)); }
    for tool; do
        echo "$tool: $(grep -c "^ok $tool " done) of $(grep -c "^$tool " plan), longest $(sed -n "s/^ok $tool .*(\([0-9]*\) s)/\1/p" done | sort -n | tail -n 1) s"
    done
    echo "compute-sanitizer: $passed passed, $failed failed, $skipped skipped ($(($(date +%s) - FE_SANITIZE_BEGIN)) s)"
    [ "$failed" -eq 0 ]
}
: >done
trap 'conclude "$@"; exit 130' INT TERM HUP
# Those on several GPUs last and alone: beside twelve others NCCL's did not begin in 480 s (two H200), alone it took 41 s.
grep -v ' ranks' plan | xargs -r -P "$JOBS" -L 1 sh "$self" --one >done
grep ' ranks' plan | xargs -r -P 1 -L 1 sh "$self" --one >>done
conclude "$@"
