#!/bin/sh
# Faults of a GPU in a small solve: each call that allocates device memory fails once, the device is lost, a kernel gives
# NaN, NCCL fails between ranks, without and with peer memory. The run has to end with one line and exit code 1,
# keep its accepted load steps, and go on with --resume to the right answer. Where NaN hits what is not used, or too few
# calls come, the answer is right and the code 0.
#   sh tests/faults/device.sh [KIND...]    from the root of the repository, after `make build/tests/solve-faulty build/meshgen`;
#                                          kinds: memory lost nan; nccl peer (each with memory, lost and poll of ranks)
# With one GPU the two ranks are processes of MPI that share it, each with a host name of its own for NCCL, which refuses
# two ranks on one GPU of one host; the odd calls fail on rank 0, the even ones on rank 1. Peer memory takes two GPUs.
#   RANKS=2                                as many GPUs, where there are several
#   FE_BUILD=build  JOBS=8 runs at a time  SAMPLES=40 calls of lost, nan, nccl  STRIDE=1 of memory  LIMIT=150 seconds, after
#                                          which no run begins  FE_FAULT_LOG=FILE a line for each run
# The last line reads "device faults: N passed, N failed, N skipped".
set -u
export LC_ALL=C OMP_NUM_THREADS=1
build=$(cd "${FE_BUILD:-build}" && pwd) || exit 2
export RANKS=${RANKS:-2}
JOBS=${JOBS:-8} SAMPLES=${SAMPLES:-40} STRIDE=${STRIDE:-1} LIMIT=${LIMIT:-150}

# What is solved: 64 Hex8, so few that multigrid has to be asked for.
flags_of() {
    case $1 in
    patch) echo '--variant patch --precondition multigrid --output fields' ;;
    bsr) echo '--variant assembled_cusparse --precondition block-jacobi --krylov gmres --no-graphs' ;;
    ranks) echo '--variant patch --precondition block-jacobi --transport nccl' ;;
    levels) echo '--variant patch --precondition multigrid --transport nccl' ;;
    no_graphs) echo '--variant patch --precondition multigrid --transport nccl --no-graphs' ;;
    peer) echo '--variant patch --precondition multigrid --transport peer' ;;
    esac
}

has_ranks() { case $1 in ranks | levels | no_graphs | peer) return 0 ;; esac; return 1; }
# Whether a case has two processes of mpirun, which have the one GPU in turns.
shares_gpu() { [ "$gpus" = 1 ] && has_ranks "$1"; }

# A run of a program: CASE KIND:N PROGRAM ARGUMENTS..., KIND:N may be empty
launch() {
    scene=$1 fault=$2
    shift 2
    if shares_gpu "$scene"; then
        FAULT=$fault TMPDIR=$PWD timeout -k 10 90 mpirun -q -n 2 sh "$work/rank" "$@"
    elif has_ranks "$scene"; then
        FE_DEVICE_FAULT=$fault timeout -k 10 60 "$@" --ranks "$RANKS"
    else
        FE_DEVICE_FAULT=$fault timeout -k 10 60 "$@"
    fi
}
# What the program said, without what mpirun adds.
said() { if shares_gpu "$1"; then grep '^solve: \|^note: ' err; else cat err; fi; }

# The numbers of the last load step in a result.
answer() { awk '/"(norm_u|max_peeq|elastic_energy|plastic_work)":/ { sub(/,$/, ""); v[$1] = $2 }
    END { print v["\"norm_u\":"], v["\"max_peeq\":"], v["\"elastic_energy\":"], v["\"plastic_work\":"] }' "$1"; }
agrees() { # RESULT REFERENCE
    echo "$(answer "$1") $(answer "$2")" | awk '{ for (i = 1; i <= 4; i++) {
        d = $i - $(i + 4); if (d < 0) d = -d
        s = $(i + 4); if (s < 0) s = -s
        if (NF != 8 || !(d <= 1e-7 * s)) exit 1 } }'
}
steps_of() { grep -c '"factors":' "$1"; } # a step that was given up has them, too
calls_of() { awk -v kind="$1" '$1 == kind { print $2 }' "$2"; }
status_of() { sed -n 's/^ "status": "\([a-z_]*\)".*/\1/p' "$1"; }

# One run in a folder of its own: KIND N CASE
one() {
    folder=$work/$3-$1-$2
    mkdir "$folder" && cd "$folder" || exit 1
    [ $(($(date +%s) - begin)) -lt "$LIMIT" ] || { echo "skip $3 $1:$2"; return; }
    flags=$(flags_of "$3")
    start=$(date +%s)
    [ "$1" != poll ] || export FE_DEVICE_COUNT="$PWD/calls"
    launch "$3" "$1:$2" "$build/tests/solve-faulty" ../p.json --backend cuda $flags --result r.json >out 2>err
    code=$?
    unset FE_DEVICE_COUNT
    said "$3" >said
    took=$(($(date +%s) - start))
    why=
    shown=$(grep -c '^ *[0-9][0-9]*  ' out)
    case $code in
    0)
        case $1 in
        nan | memory) ;;
        # the last call of each rank closes what is no longer used
        lost) has_ranks "$3" && [ "$2" -gt $(($(calls_of lost "../$3.calls") - 2)) ] || why='the run did not notice' ;;
        poll) [ "$(calls_of poll calls)" -lt "$2" ] || why='the run did not notice' ;; # unless there were too few calls
        *) why='the run did not notice' ;;
        esac
        agrees r.json "../$3.json" || why='another answer, and exit code 0'
        ;;
    1)
        [ "$(tail -n 1 said | grep -c '^solve: ')" = 1 ] || why='no message'
        [ "$1" = nan ] || [ "$(grep -c '^solve: ' said)" = 1 ] || why="$(grep -c '^solve: ' said) lines"
        [ "$(grep -vc '^solve: \|^note: ' said)" = 0 ] || why='a line that is not ours'
        ;;
    *) why="exit code $code" ;;
    esac
    [ $took -le "$(shares_gpu "$3" && echo 80 || echo 30)" ] || why="${why:+$why, }$took s"
    if [ -z "$why" ] && [ $code = 1 ] && [ -e r.json ]; then
        kept=$(steps_of r.json)
        case $(status_of r.json) in fault | not_converged) ;; *) why="status $(status_of r.json)" ;; esac
        [ "$kept" -ge "$shown" ] || why="$kept of $shown load steps kept"
    fi
    if [ -z "$why" ] && [ $code = 1 ] && [ -e r.json.state ]; then
        launch "$3" '' "$build/solve" ../p.json --backend cuda $flags --resume r.json >>out 2>again || why="not resumed: $(cat again)"
        [ -n "$why" ] || agrees r.json "../$3.json" || why='another answer after it was resumed'
    fi
    [ -n "$why" ] || { echo "ok $3 $1:$2 (code $code, $took s) $(tail -n 1 said)"; return; }
    [ "$code" -lt 128 ] || cp err said # a crash: with the stacks that mpirun shows
    echo "FAILED $3 $1:$2: $why: $(tail -n 30 said | tr '\n' ' ')"
}

# Also of what was interrupted.
end() {
    [ -z "${FE_FAULT_LOG:-}" ] || [ ! -e "$work/done" ] || cp "$work/done" "$FE_FAULT_LOG"
    rm -rf "$work"
}

gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU ')
if [ "${1:-}" = --one ]; then
    work=$FE_FAULT_WORK begin=$FE_FAULT_BEGIN
    one "$2" "$3" "$4"
    exit 0
fi

[ "$gpus" -le 1 ] || [ "$RANKS" -le "$gpus" ] || { echo "device faults: RANKS=$RANKS: $gpus GPUs were found" >&2; exit 2; }
[ "$gpus" -gt 0 ] || { echo 'device faults: skipped, no GPU'; exit 0; }
for program in tests/solve-faulty solve meshgen; do
    [ -x "$build/$program" ] || { echo "device faults: $build/$program is missing: make $build/$program" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- memory lost nan nccl peer
self=$(cd "$(dirname "$0")" && pwd)/device.sh
work=$(mktemp -d)
trap 'end' EXIT
trap 'exit 130' INT TERM HUP
begin=$(date +%s)
cd "$work" || exit 1
"$build/meshgen" box -c 4 -d 0.2 -o box.msh >/dev/null || exit 1
cat >p.json <<'END'
{"name": "cube", "meshes": ["box.msh"], "material": {"E": 200000, "nu": 0.3, "sigma_y": 250, "H": 2000},
 "dirichlet": [{"group": "x0", "u": {"x": 0, "y": 0, "z": 0}}], "neumann": [{"group": "x1", "traction": [60, 0, 40]}],
 "paths": {"load": [1, 1.6, 2.2, 1.4]}}
END
# PROGRAM ARGUMENTS... as one of two processes that share a GPU; FAULT=KIND:N hits the one or the other.
cat >rank <<'END'
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
export NCCL_HOSTID=host-of-rank-$rank NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1
[ "$rank" = 0 ] || unset FE_DEVICE_COUNT
n=${FAULT##*:}
if [ -n "$FAULT" ] && { [ "$n" = 0 ] || [ $(((n + 1) % 2)) = "$rank" ]; }; then export FE_DEVICE_FAULT="$FAULT"; fi
"$@"
code=$?
[ $code -lt 128 ] || echo "rank $rank, $1: ended by signal $((code - 128))" >&2 # else mpirun itself did
exit $code
END
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none

# The run without a fault, whose answer and number of calls the others are held against.
count() { # CASE
    export FE_DEVICE_COUNT="$work/$1.calls"
    launch "$1" '' "$build/tests/solve-faulty" p.json --backend cuda $(flags_of "$1") --result "$1.json" >"$1.log" 2>&1 ||
        { echo "device faults: the run without a fault failed: $(tail -n 1 "$1.log")" >&2; rm -f "$1.calls"; }
}
# Lines "KIND N CASE" for all runs of a kind in a case.
plan() { # KIND CASE
    [ -e "$2.calls" ] || exit 1
    calls=$(calls_of "$1" "$2.calls")
    [ "${calls:-0}" -gt 0 ] || { echo "device faults: $2: no call of kind $1 was seen" >&2; exit 1; }
    step=$STRIDE
    [ "$1" = memory ] || step=$((calls / SAMPLES / 2 * 2 + 1)) # odd, so that both ranks have their turn
    echo "$2, $1: $calls calls, one in $step" >&2
    awk -v kind="$1" -v n="$calls" -v step="$step" -v name="$2" 'BEGIN { for (i = 1; i <= n; i += step) print kind, i, name }'
}
single= ranks= peer=
for kind; do
    case $kind in
    memory | lost | nan) single='patch bsr' ;;
    nccl)
        if [ "$gpus" = 1 ] && ! command -v mpirun >/dev/null; then
            echo 'nccl: skipped, it takes two GPUs, or one and mpirun' >&2
        else
            ranks='ranks levels no_graphs'
        fi ;;
    peer) if [ "$gpus" = 1 ]; then echo 'peer: skipped, it takes several GPUs' >&2; else peer=peer; fi ;;
    *) echo "device faults: there is no kind $kind; the kinds: memory, lost, nan, nccl, peer" >&2; exit 2 ;;
    esac
done
for name in $single $ranks $peer; do count "$name" & done
wait
plan_ranks() { # CASE...
    for name; do
        plan nccl "$name" && plan memory "$name" && plan lost "$name" || exit 1
        for n in 1 9 101; do echo "poll $n $name"; done # odd: of rank 0, whose calls are counted
    done
}
for kind; do
    case $kind in
    nccl) plan_ranks $ranks ;;
    peer) plan_ranks $peer ;;
    *) for name in $single; do plan "$kind" "$name" || exit 1; done ;;
    esac
done >sorted || exit 1
# The first of each kind and case, then the second of each, so that a LIMIT cuts all of them short.
awk '{ print ++n[$1, $3], $0 }' sorted | sort -s -n -k 1,1 | cut -d ' ' -f 2- >plan
export FE_FAULT_WORK="$work" FE_FAULT_BEGIN="$begin" FE_BUILD="$build" LIMIT
xargs -P "$JOBS" -L 1 sh "$self" --one <plan >done
grep '^FAILED' done
passed=$(grep -c '^ok' done) failed=$(grep -c '^FAILED' done) skipped=$(grep -c '^skip' done)
planned=$(wc -l <plan)
[ $((passed + failed + skipped)) -eq "$planned" ] || { echo "only $((passed + failed + skipped)) of $planned runs ended"; failed=$((failed + 1)); }
echo "messages, how often:"
sed -n 's/^ok [^)]*) //p' done | sed 's/[0-9][0-9.e+-]*/N/g' | sort | uniq -c | sort -rn | head -20
echo "device faults: $passed passed, $failed failed, $skipped skipped ($(($(date +%s) - begin)) s)"
[ "$failed" -eq 0 ]
