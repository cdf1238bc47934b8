#!/bin/sh
# A Slurm of our own, two nodes on this machine, and what users do there: srun and mpirun, time limits, scancel, arrays,
# and the job script of packaging/slurm. Prints TAP. It takes two minutes or more, most of them to await a time limit, and is
# run by `make test-slurm`. It needs Debian's packages slurmctld, slurmd, slurm-client and munge, no configuration, and no
# root where Slurm's daemons can be started without.
#   tests/slurm.sh [KEEP]    KEEP: leaves the folder
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
unset OMP_NUM_THREADS
PATH=$PATH:/usr/sbin:/sbin
here=$(cd "${0%/*}/.." && pwd)
build=$(cd "${FE_BUILD:-build}" && pwd)
for program in slurmctld slurmd srun sbatch munged; do
    if ! command -v $program >/dev/null; then
        printf '1..1\nok 1 - slurm # SKIP\nskipped: slurm: %s was not found (apt-get install slurmctld slurmd slurm-client munge)\n' $program
        exit 0
    fi
done
if "$build/solve" --version | grep -q '^MPI: none'; then
    printf '1..1\nok 1 - slurm # SKIP\nskipped: slurm: this build has no MPI\n'
    exit 0
fi
folder=$(mktemp -d) && cd "$folder" || exit 1

# --- the cluster ----------------------------------------------------------------------------------------------------
export SLURM_CONF=$folder/slurm.conf
start_cluster() {
    mkdir -p ctld n1 n2 munge work && mkdir -m 1777 tmp-n1 tmp-n2 && chmod 755 . && chmod 700 munge || return 1
    (umask 077 && head -c 128 /dev/urandom >munge/key)
    munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
        --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" >munge/out 2>&1 || return 1
    port=$((20000 + $$ % 20000))
    cat >slurm.conf <<END
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/ctld
SlurmdSpoolDir=$folder/%n
TmpFS=$folder/tmp-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait=5
SlurmctldPort=$port
SlurmdPort=$((port + 1))
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + 2)) CPUs=4 RealMemory=1000
NodeName=n2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$((port + 3)) CPUs=4 RealMemory=1000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
    { slurmctld && slurmd -N n1 && slurmd -N n2; } >daemons 2>&1 || return 1
    for i in $(seq 60); do
        [ "$(sinfo -h -t idle -o %D 2>/dev/null)" != 2 ] || return 0
        sleep 0.5
    done
    return 1
}
stop_cluster() {
    scancel -u "$(id -un)" >/dev/null 2>&1 && sleep 1
    for pid in slurmd-n1.pid slurmd-n2.pid slurmctld.pid munge/pid; do
        [ ! -s "$folder/$pid" ] || kill "$(cat "$folder/$pid")" 2>/dev/null
    done
    cd / && if [ -n "$keep" ]; then echo "# left in $folder" >&2; else sleep 1 && rm -rf "$folder"; fi
}
keep=$1
trap stop_cluster EXIT
trap 'exit 1' INT TERM HUP
if ! start_cluster; then
    printf '1..1\nnot ok 1 - slurm: no cluster\n'
    tail -n 5 "$folder"/daemons "$folder"/*.log "$folder"/munge/out 2>/dev/null | sed 's/^/# /'
    exit 1
fi
cd work || exit 1

# --- tests ------------------------------------------------------------------------------------------------------------
n_test=0 n_failed=0
check() { # NAME COMMAND...: the command's status decides; its output is shown after a failure
    name=$1 n_test=$((n_test + 1))
    shift
    if "$@" >said 2>&1; then
        echo "ok $n_test - $name"
    else
        n_failed=$((n_failed + 1))
        echo "not ok $n_test - $name"
        tail -n 30 said | sed 's/^/# /'
    fi
}
expect() { # CODE COMMAND...
    code=$1
    shift
    "$@"
    was=$?
    [ $was -eq "$code" ] || { echo "exit code $was, not $code: $*"; return 1; }
}
has() { # RESULT KEY VALUE
    grep -q "^ *\"$2\": \"\{0,1\}$3\"\{0,1\},\{0,1\}\$" "$1" || { echo "$1: not $2 $3:"; grep "\"$2\"" "$1"; return 1; }
}
steps() { grep -cs '^   "step": ' "$1"; }
await() { # COMMAND...: until it is true, for two minutes or more
    for i in $(seq 1200); do
        ! "$@" || return 0
        sleep 0.1
    done
    echo "in vain: $*"
    return 1
}
has_steps() { [ "$(steps "$1")" -ge 2 ] 2>/dev/null; }
left() { ! ls "$1"*.tmp "$1"*.lock 2>/dev/null; } # NAME: nothing is left of it but the result and its state

problem() { # NAME STEPS
    {
        printf '{"name": "%s", "meshes": ["box.msh"], "units": "mm, N, MPa",\n' "$1"
        printf '"material": {"E": 200000, "nu": 0.3, "sigma_y": 250, "H": 2000},\n'
        printf '"dirichlet": [{"group": "x0", "u": {"x": 0, "y": 0, "z": 0}}],\n'
        printf '"neumann": [{"group": "x1", "traction": [60, 0, 40]}], "probes": {"corner": [1, 1, 1]},\n"paths": {"load": ['
        awk -v n="$2" 'BEGIN { for (i = 1; i <= n; i++) printf "%s%s", (i > 1 ? ", " : ""), (i % 2 ? "1" : "0.5") }'
        printf ']}}\n'
    } >"$1.json"
}
"$build/meshgen" box -c 6 -o box.msh >/dev/null
problem short 3 && problem long 400 && problem endless 60000
PATH=$build:$PATH

# Slurm ends it after a minute; its end is looked at last.
srun --mpi=pmix -n 2 --time=1 solve endless.json --threads 1 --result limit.json >limit.out 2>limit.err &
limited=$!

one_node() { expect 0 srun --mpi=pmix -n 2 solve short.json --result r.json && has r.json status converged && has r.json ranks 2 && has r.json communication mpi; }
check 'srun --mpi=pmix on one node' one_node

# Open MPI names its shared memory by job, host and place on the node: here ranks of two nodes would take each other's,
# and crash or hang.
apart='env OMPI_MCA_btl=self,tcp'
two_nodes() {
    rm -f r.json
    expect 0 $apart srun --mpi=pmix -N 2 -n 6 solve short.json --result r.json && has r.json status converged && has r.json ranks 6
}
check 'srun --mpi=pmix on two nodes' two_nodes

without_mpi() {
    rm -f r.json
    srun -n 2 solve short.json --result r.json >none 2>&1
    [ $? -eq 2 ] || { echo 'not exit code 2'; cat none; return 1; }
    [ "$(grep -c '^solve: SLURM_STEP_NUM_TASKS=2: .*srun --mpi=pmix' none)" -eq 1 ] && [ ! -e r.json ] || { cat none; return 1; }
    expect 0 srun -n 2 sh -c 'solve short.json --ranks 1 --result r$SLURM_PROCID.json' && has r0.json status converged && has r1.json ranks 1
}
check 'srun without MPI is refused, but for --ranks 1' without_mpi

in_allocation() {
    expect 0 salloc -Q -n 2 mpirun -n 2 solve short.json --result m.json && has m.json ranks 2 && has m.json status converged
}
check 'mpirun in an allocation' in_allocation

threads() {
    expect 0 srun -n 1 -c 1 env OMP_NUM_THREADS=4 solve short.json --result t.json && has t.json threads 1 || return 1
    expect 0 srun --mpi=pmix -n 2 -c 1 env OMP_NUM_THREADS=4 solve short.json --result t.json && has t.json threads 1 || return 1
    [ "$(srun -n 1 -c 1 sh "$here/packaging/cores.sh")" -eq 1 ] || { echo 'cores.sh: more than one'; return 1; }
}
check 'one CPU, one thread, though nothing binds' threads

cancelled() {
    rm -f c.json
    srun -J cancelled --mpi=pmix -n 2 solve long.json --threads 1 --result c.json >c.out 2>c.err &
    await has_steps c.json || return 1
    scancel -n cancelled
    wait $!
    cat c.err
    has c.json status interrupted && left c.json
}
check 'scancel keeps the accepted load steps' cancelled

resumed() {
    n=$(steps c.json)
    expect 0 $apart srun --mpi=pmix -N 2 -n 3 solve long.json --threads 1 --resume c.json >c.out && has c.json status converged &&
        grep "^goes on after load step" c.out && [ "$(steps c.json)" -eq 400 ] && [ "$n" -lt 400 ]
}
check 'a run goes on with another number of ranks' resumed

# A signal to the steps of a job is what --signal sends before its limit. Slurm lets a job that was requeued wait.
job_state() { scontrol show job "$job" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p'; }
is_state() { [ "$(job_state)" = "$1" ]; }
begins() { scontrol update JobId="$job" StartTime=now 2>/dev/null; is_state RUNNING || is_state COMPLETED; }
is_waiting() { scontrol show job "$job" | grep -q 'Restarts=1' && is_state PENDING; }
# Slurm 22.05 may take the end of the interrupted one for that of the next, where that begins within the second.
goes_on() { sleep 3 && await begins; }
job_resumes() {
    job=$(SOLVE=solve RESULT=j.json sbatch --parsable -n 2 "$here/packaging/slurm/solve.sbatch" long.json --threads 1) || return 1
    await has_steps j.json || return 1
    scancel --signal=TERM "$job"
    await is_waiting || { cat ./*.log; return 1; }
    has j.json status interrupted || return 1
    goes_on || return 1
    await is_state COMPLETED || { cat ./*.log; return 1; }
    cat ./*.log
    has j.json status converged && [ "$(steps j.json)" -eq 400 ] && grep -q '^goes on after load step' ./*-"$job".log
}
check 'the job script goes back into the queue and resumes' job_resumes

finished_job() {
    before=$(stat -c %Y.%i j.json)
    SOLVE=solve RESULT=j.json expect 0 sbatch -Q -W -n 2 -o again.log "$here/packaging/slurm/solve.sbatch" long.json --threads 1 || return 1
    grep 'all 400 load steps are done' again.log && [ "$(stat -c %Y.%i j.json)" = "$before" ]
}
check 'a finished job is not solved again' finished_job

refused_job() {
    SOLVE=nowhere/solve expect 2 sbatch -Q -W -n 1 -o refused.log "$here/packaging/slurm/solve.sbatch" short.json || return 1
    grep '^solve.sbatch: nowhere/solve is not there' refused.log || return 1
    SOLVE=solve expect 2 sbatch -Q -W -n 1 -o own.log "$here/packaging/slurm/solve.sbatch" short.json --result x.json || return 1
    grep '^solve.sbatch: --result: ' own.log && [ ! -e x.json ] || return 1
    SOLVE=solve expect 2 sbatch -Q -W -n 1 -o array.log "$here/packaging/slurm/solve.sbatch" case_%a.json || return 1
    grep '^solve.sbatch: %a is the number' array.log
}
check 'the job script names what is wrong' refused_job

# A piece of `make bench` is interrupted; the next one goes on, and no point is measured twice.
results=$folder/work/results
n_done() { find "$results" -path '*/scratch/*.done' 2>/dev/null | wc -l; }
has_done() { [ "$(n_done)" -ge 2 ]; }
bench_job() { # the words: variables
    sbatch --parsable -c 1 -D "$here" -o "$folder/work/bench.log" packaging/slurm/bench.sbatch BUILD="$build" \
        RESULTS="$results" PAPER=1 EXPERIMENTS=first-look BACKENDS=host ELEMENTS="tet4 hex8" SIZES_host=3000 \
        VARIANTS="element_atomic patch" "$@"
}
bench_resumes() {
    job=$(bench_job) || return 1
    await has_done || { cat bench.log; return 1; }
    scancel --signal=TERM "$job"
    await is_waiting || { cat bench.log; return 1; }
    n=$(n_done)
    goes_on || { cat bench.log; scontrol show job "$job"; return 1; }
    await is_state COMPLETED || { cat bench.log; scontrol show job "$job"; return 1; }
    cat bench.log
    all=$(sed -n 's/^bench: the whole list, 2 points in \([0-9]*\) processes.*/\1/p' bench.log | head -n 1)
    [ "$n" -lt "$all" ] && [ "$(n_done)" -eq "$all" ] && grep -q 'interrupted; finished points are kept' bench.log || return 1
    awk -F, -v all="$all" 'NR == 1 { for (i = 1; i <= NF; i++) of[$i] = i }
        NR > 1 && $of["status"] == "done" { n++; if (seen[$of["point"], $of["process"]]++) twice = 1 }
        END { exit twice || n != all }' "$results"/*/*/points.csv || { cat "$results"/*/*/points.csv; return 1; }
}

bench_without_time() {
    bench_job MARGIN=300 >/dev/null || return 1
    await grep -q 'bench.sbatch: a longer --time is needed than MARGIN=300 minutes' bench.log || return 1
    expect 2 sbatch -Q -W -D "$here" -o "$folder/work/wrong.log" packaging/slurm/bench.sbatch paper &&
        grep "^bench.sbatch: paper: is not VARIABLE=VALUE" wrong.log
}
if [ -x "$build/kernels" ]; then
    check 'the job script of make bench resumes, and repeats no point' bench_resumes
    check 'the job script of make bench names what is wrong' bench_without_time
else
    n_test=$((n_test + 1))
    printf 'ok %d - bench.sbatch # SKIP\nskipped: bench.sbatch: this build has no kernels (make info)\n' $n_test
fi

array() {
    for i in 1 2 3; do problem case_$i 3; done
    SOLVE=solve expect 0 sbatch -Q -W --array=1-3 -n 1 -o array-%a.log "$here/packaging/slurm/solve.sbatch" case_%a.json --output fields || return 1
    for i in 1 2 3; do
        has case_$i.r.json status converged && [ -e fields/case_$i.pvd ] && [ -e fields/case_${i}_0003.vtu ] || return 1
    done
}
check 'tasks of an array write files of their own' array

# One name for all: exactly one task has the files at a time, and each row and file is whole.
array_in_the_way() {
    cat >rows.sh <<'END'
#!/bin/sh
solve long.json --threads 1 --ranks 1 --result same.json --output same >same-$SLURM_ARRAY_TASK_ID.out 2>same-$SLURM_ARRAY_TASK_ID.err
echo $? >same-$SLURM_ARRAY_TASK_ID.code
scaling --threads 1 --dofs 3000 --variants patch --rows rows.csv >/dev/null 2>rows-$SLURM_ARRAY_TASK_ID.err
echo $? >rows-$SLURM_ARRAY_TASK_ID.code
END
    sbatch -Q -W --array=1-3 -n 1 -o /dev/null rows.sh
    cat same-?.err rows-?.err
    has same.json status converged && [ "$(grep -l '^0$' same-?.code | wc -l)" -ge 1 ] || return 1
    [ "$(cat same-?.err | grep -c '^solve: same.json: another run is writing it (process ')" -eq "$(grep -l '^2$' same-?.code | wc -l)" ] || return 1
    awk -F, 'NR == 1 { n = NF } NF != n { bad = 1 } END { exit bad || NR < 2 }' rows.csv && left same
}
check 'tasks of one result: one writes, the others are refused' array_in_the_way

limit() {
    wait $limited
    code=$?
    cat limit.err
    grep -q 'DUE TO TIME LIMIT' limit.err && [ $code -ne 0 ] && has limit.json status interrupted || return 1
    left limit.json && grep -q '^solve: interrupted in load step' limit.err && grep -q '^interrupted on ' limit.out
}
check 'a time limit, whose signal comes twice, is an orderly end' limit

echo "1..$n_test"
exit $((n_failed > 0))
