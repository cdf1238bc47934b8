#!/bin/sh
# Sweeps the program kernels over backends, elements, sizes and orders that suit this machine, the program solves over
# problems, preconditioners and ranks, peers (PETSc) over some of these problems, and the program scaling over numbers
# of ranks, within a budget of time. Leaves rows, samples, tables and figures in
# RESULTS/MACHINE/DATE-COMMIT/ (results/README.md describes them). Run again, it goes on: finished points are kept.
#
#   sh bench/sweep.sh       from the root of the repository; make bench does it after building
#
# Passes, the most useful first; each leaves tables and figures:
#   first look   all strategies and operations at one size, few samples: on the GPU, else on the host. Always whole
#   solves       whole solves there, on one and several GPUs; until three fifths of the budget are gone
#   sizes        other sizes and meshes on the GPU: unstructured ones, boxes whose sides are no powers of two, plastic
#                zones; small sizes, for the crossover with the host
#   ranks        several GPUs
#   samples      again, with more samples, what has few of them or wide intervals
#   host         the host's solves, sizes and ranks; a fifth of the budget is kept for them where there is a GPU
#   precision    mixed and single precision: on the GPU at the largest and the first size, on the host at the first, and
#                on irregular meshes
#   meshes       on the GPU: an unstructured mesh of 20 M degrees of freedom, a slender one, one with odd sides
#   hardening    residual and material by Voce's law: on the GPU at the largest size, on the host at the first
#   rest         energy at the largest size of boxes; larger solves, orders, shares of plastic elements, redundant element
#                forms, further sizes and meshes
# A point that would not end within the budget is left out, and said so in the table's foot.
#
# Environment (make bench takes the same names as arguments), with defaults:
#   BUDGET=10               minutes, building included; 7 without a GPU; 0: no limit
#   PASSES=                 all; "first sizes" for example takes these alone
#   BUILD=build             where kernels, solves and scaling are
#   RESULTS=results         where the machine's folder is
#   BACKENDS="host cuda"    those that are there
#   ELEMENTS="tet4 hex8"
#   VARIANTS=               strategies, all (of solves and scaling: five); kernels --fe_list prints them
#   SIZES_host= SIZES_cuda= degrees of freedom of boxes, "25000 100000": the first is that of the first look
#   MESHES_host= MESHES_cuda=  other meshes: irregular@5000000 and slender@1000000 (about so many degrees of freedom),
#                           119x119x119 (cells), bracket3 (the coarse one of the repository, each element made eight
#                           3 times), bracket (5 million degrees of freedom by Gmsh and two such refinements; 12 million,
#                           bracket4, where Gmsh is not installed); 0: none
#   SOLVES_host= SOLVES_cuda=  problems: bracket (the fine mesh where Gmsh is installed, with its coarse one),
#                           bending32 (cube of 32 cells, elastic), stretched46 (the reference workload); 0: none
#   PRECONDITION="block-jacobi multigrid"
#   THREADS=                of the host backend, all cores; of each rank on the host, 1
#   REPETITIONS=            samples, 15 (first look 5); of solves, and of ranks on the host, 7
#   RANKS_host= RANKS_cuda= "1 2 4 8": powers of two up to what cores and GPUs hold, none where that is one; 0: none
#   STRONG_host= STRONG_cuda=  degrees of freedom of all ranks together, or meshes as above, 0: none
#   WEAK_host= WEAK_cuda=   of each rank, 0: none
#   BENCH_START=            when make bench began, seconds since 1970
#
# A point is one call of kernels: all variants and operations on one backend, element and size, checked first and
# then timed in turns; or one call of solves or scaling: variants one after another on one backend, element and number
# of ranks, with one problem and preconditioner or one box. Its files in scratch/ get their final names when it is complete.
set -eu
export LC_ALL=C

BUILD=${BUILD:-build} RESULTS=${RESULTS:-results} KERNELS=$BUILD/kernels SOLVES=$BUILD/solves SCALING=$BUILD/scaling
ELEMENTS=${ELEMENTS:-tet4 hex8} VARIANTS=${VARIANTS:-} THREADS=${THREADS:-} REPETITIONS=${REPETITIONS:-}
PRECONDITION=${PRECONDITION:-block-jacobi multigrid}
repetitions_first=${REPETITIONS:-5}    # of the first look: the interval is from the least to the largest sample
repetitions_kernels=${REPETITIONS:-15} # the interval is then the 4th to the 12th sample
repetitions_solves=${REPETITIONS:-7}   # the interval is then from the least to the largest sample
repetitions_host=${REPETITIONS:-7}     # of ranks
repetitions_cuda=$repetitions_kernels
seconds_energy=3                       # NVML counts up to a tenth of a second late
# Open MPI: a process on each hardware thread, in containers too
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export PRTE_MCA_hwloc_default_binding_policy=none
now() { date +%s; }
start=${BENCH_START:-$(now)}

fail() { echo "bench: $*" >&2; exit 1; }
test -x "$KERNELS" || fail "$KERNELS is not there: make info says what it needs"
variants=$(echo $VARIANTS | tr ' ' ',')
n_variant=$("$KERNELS" --fe_list | wc -l)
[ -z "$VARIANTS" ] || n_variant=$(echo $VARIANTS | wc -w)
machine=$("$KERNELS" --fe_slug)
commit=$("$KERNELS" --version | sed -n 's/^febench //p')
gpu=; if "$KERNELS" --fe_backend=cuda --fe_slug >/dev/null 2>&1; then gpu=yes; fi
BACKENDS=${BACKENDS:-${gpu:+cuda }host}
case " $BACKENDS " in *" cuda "*) first_backend=cuda BUDGET=${BUDGET:-10} ;; *) first_backend=host BUDGET=${BUDGET:-7} ;; esac
case $BUDGET in '' | *[!0-9]*) fail "BUDGET=$BUDGET: is not a whole number of minutes" ;; esac

# --- solves and ranks: with which strategies, of what, on how many -----------------------------------------------
cores=$(sh packaging/cores.sh)
few= n_few=0
for variant in ${VARIANTS:-element_atomic node_csr two_phase patch assembled_bsr}; do # not element_only, which is no strategy
    if "$KERNELS" --fe_list | grep -q "^$variant "; then few=$few${few:+,}$variant n_few=$((n_few + 1)); fi
done
solves_build=none ranks_build=none peers_build=none
[ ! -x "$SOLVES" ] || solves_build=$(cksum <"$SOLVES")
[ ! -x "$BUILD/peers" ] || ! command -v mpirun >/dev/null || peers_build=$(cksum <"$BUILD/peers")
[ ! -x "$SCALING" ] || ranks_build=$(cksum <"$SCALING")
[ "$solves_build" != none ] || echo "bench: $SOLVES is not there (make info says what it needs): no whole solves" >&2
[ "$ranks_build" != none ] || echo "bench: $SCALING is not there (make info says what it needs): no points on several ranks" >&2
[ "$peers_build" != none ] || echo "bench: $BUILD/peers is not there (make info says what it needs): no PETSc" >&2
[ -n "$few" ] && [ "$solves_build" != none ] || SOLVES_host=0 SOLVES_cuda=0
[ -n "$few" ] && [ "$ranks_build" != none ] || RANKS_host=0 RANKS_cuda=0
doubled() { # BACKEND, THREADS of a rank: 1 2 4 ... ranks
    "$SCALING" --capacity | awk -v backend="$1" -v threads="$2" '
        $1 == backend && $2 >= 2 * threads { for (n = 1; n * threads <= $2; n *= 2) print n }'
}
RANKS_host=${RANKS_host:-$(doubled host "${THREADS:-1}")}
RANKS_cuda=${RANKS_cuda:-$(doubled cuda 1)}
if [ "$cores" -ge 16 ]; then
    STRONG_host=${STRONG_host:-100000 irregular@100000} WEAK_host=${WEAK_host:-50000} SOLVES_host=${SOLVES_host:-bracket bending32 stretched46}
else
    STRONG_host=${STRONG_host:-25000 irregular@25000} WEAK_host=${WEAK_host:-12000} SOLVES_host=${SOLVES_host:-bracket bending20 stretched16}
fi
STRONG_cuda=${STRONG_cuda:-300000 irregular@6000000 50000000} WEAK_cuda=${WEAK_cuda:-6000000}
SOLVES_cuda=${SOLVES_cuda:-stretched46 bracket bending64}
has() { case " $BACKENDS " in *" $1 "*) ;; *) false ;; esac; }
has cuda || SOLVES_cuda=0
has host || SOLVES_host=0

# --- the folder: one that this binary began with the same settings, else a new one ---------------------------
settings="kernels $(cksum <"$KERNELS"), threads ${THREADS:-all}, variants ${variants:-all}, repetitions $repetitions_first and $repetitions_kernels"
settings="$settings; ranks $ranks_build, threads ${THREADS:-1}, variants ${few:-none}, repetitions $repetitions_host and $repetitions_cuda"
settings="$settings; solves $solves_build, repetitions $repetitions_solves; peers $peers_build"
folder=
for old in "$RESULTS/$machine"/*-"$commit"*; do
    if [ "$(cat "$old/scratch/settings" 2>/dev/null)" = "$settings" ]; then folder=$old; fi
done
if [ -z "$folder" ]; then
    base=$RESULTS/$machine/$(date +%Y-%m-%d)-$commit folder=$base n=2
    while [ -e "$folder" ]; do folder=$base-$n n=$((n + 1)); done
fi
scratch=$folder/scratch
case $folder in *[[:space:]]*) fail "RESULTS=$RESULTS: holds a blank" ;; esac

full_disk() { fail "$folder: cannot be written: its disk is full (or it is not ours). Finished points are kept: free some space, then run it again"; }
room() { # a megabyte
    if head -c 1000000 /dev/zero >"$scratch/room" 2>/dev/null; then rm "$scratch/room"; else rm -f "$scratch/room"; false; fi
}
mkdir -p "$scratch" && room && { [ -f "$scratch/settings" ] || echo "$settings" >"$scratch/settings"; } || full_disk
if command -v flock >/dev/null; then
    exec 9>"$scratch/lock"
    flock -n 9 || fail "another sweep is at work in $folder"
fi

cp "$KERNELS" "$scratch/kernels" || full_disk # so that a build beside the sweep changes nothing
[ "$solves_build" = none ] || cp "$SOLVES" "$scratch/solves" || full_disk
[ "$peers_build" = none ] || cp "$BUILD/peers" "$scratch/peers" || full_disk
[ "$ranks_build" = none ] || cp "$SCALING" "$scratch/scaling" || full_disk

child=
interrupted() {
    trap '' INT TERM HUP
    [ -z "$child" ] || { kill "$child" && wait "$child"; } 2>/dev/null || true
    rm -f "$scratch"/*.part "$scratch/kernels" "$scratch/solves" "$scratch/peers" "$scratch/scaling"
    echo >&2
    echo "bench: interrupted; finished points are kept in $folder: run it again to go on" >&2
    exit 130
}
trap interrupted INT TERM HUP

# --- points: PASS REPETITIONS, then kernels BACKEND ELEMENT SIZE ORDER PLASTIC PATTERN [SPECIAL] (SIZE: degrees of freedom of a
# box, or a mesh as in MESHES_cuda; the same of scaling; SPECIAL: a precision, the law voce, materials4 (layers of them), or "energy": a point without
# SPECIAL again, with its energy), solves BACKEND ELEMENT PROBLEM
# PRECONDITION RANKS, the same of peers, or scaling BACKEND ELEMENT SIZE KIND RANKS; in the order in which they are measured ------------
if [ "$cores" -ge 16 ]; then
    SIZES_host=${SIZES_host:-100000 1000 10000 300000 800000 3200000} MESHES_host=${MESHES_host:-irregular@300000 bracket2}
else
    SIZES_host=${SIZES_host:-25000 1000 5000 100000} MESHES_host=${MESHES_host:-irregular@25000 bracket1 irregular@100000}
fi
SIZES_cuda=${SIZES_cuda:-1000000 6400000 300000 100000 30000 10000 3000 1000}
if has cuda; then MESHES_cuda=${MESHES_cuda:-irregular@5000000 119x119x119 bracket}; else MESHES_cuda=0; fi
sizes_of() { if [ "$1" = host ]; then echo "$SIZES_host"; else echo "$SIZES_cuda"; fi; }
first_of() { echo "${1%% *}"; }
others_of() { echo "$1" | cut -s -d' ' -f2-; }
largest_of() { echo "$1" | tr ' ' '\n' | sort -n | tail -n 1; }
kernel_points() { # PASS REPETITIONS BACKEND SIZE ORDER [PLASTIC PATTERN [SPECIAL]]
    [ "$4" != 0 ] || return 0
    for element in $ELEMENTS; do echo "$1 $2 kernels $3 $element $4 $5 ${6:-1} ${7:-clustered}${8:+ $8}"; done
}
# The reference workload on all numbers of ranks, other problems on one; the bracket on its two meshes.
solve_points() { # PASS BACKEND PROBLEM...
    pass=$1 backend=$2
    shift 2
    for problem in "$@"; do
        meshes=$problem counts=1 preconditions=$PRECONDITION
        case $problem in
        0) continue ;;
        bracket) meshes="bracket bracket_linear ${fine:+bracket_fine bracket_fine_linear}" ;;
        stretched*)
            [ "$backend" = host ] && counts=$RANKS_host || counts=$RANKS_cuda
            case $counts in 0 | '') counts=1 ;; esac
            # a fixed number of iterations with multigrid would go on where only rounding errors are left
            case " $PRECONDITION " in *" block-jacobi "*) preconditions=block-jacobi ;; *) continue ;; esac
            ;;
        esac
        for mesh in $meshes; do
            for ranks in $counts; do
                for element in $ELEMENTS; do
                    for precondition in $preconditions; do
                        echo "$pass $repetitions_solves solves $backend $element $mesh $precondition $ranks"
                    done
                done
            done
        done
    done
}
# PETSc on the linear problems, with as many processes as there are ranks on the host.
peer_points() { # PASS PROBLEM...
    [ "$peers_build" != none ] || return 0
    pass=$1 processes=$(largest_of "$RANKS_host")
    shift
    case $processes in 0 | '') processes=1 ;; esac
    for problem in "$@"; do
        meshes=
        case $problem in
        bracket) meshes="bracket_linear ${fine:+bracket_fine_linear}" ;;
        bending*) meshes=$problem ;;
        esac
        for mesh in $meshes; do
            for element in $ELEMENTS; do
                for precondition in gamg boomeramg; do
                    echo "$pass $repetitions_solves peers host $element $mesh $precondition $processes"
                done
            done
        done
    done
}
rank_points() { # PASS BACKEND
    [ "$2" = host ] && strong=$STRONG_host weak=$WEAK_host counts=$RANKS_host repetitions=$repetitions_host ||
        strong=$STRONG_cuda weak=$WEAK_cuda counts=$RANKS_cuda repetitions=$repetitions_cuda
    # the first size of all ranks together, then sizes of each rank, then other meshes and larger sizes of all, which take long
    for kind in strong weak larger; do
        case $kind in
        strong) sizes=${strong%% *} ;;
        weak) sizes=$weak ;;
        larger) sizes=$(others_of "$strong") kind=strong ;;
        esac
        for size in $sizes; do
            for element in $ELEMENTS; do
                for ranks in $counts; do
                    [ "$size" = 0 ] || [ "$ranks" = 0 ] || echo "$1 $repetitions scaling $2 $element $size $kind $ranks"
                done
            done
        done
    done
}
rest_points() { # BACKEND: energy at the largest size; at a reference size orders, shares of plastic elements, and the redundant forms; further sizes
    [ "$1" = host ] && reference=$(first_of "$SIZES_host") further='10000 50000 200000 400000 1600000 slender@100000' ||
        reference=300000 further='600000 2000000 3000000 10000000 irregular@1000000'
    [ "$1" = host ] && there=$SOLVES_host more='bending32 stretched46' || there=$SOLVES_cuda more='bending32 bending96'
    kernel_points rest "$repetitions_kernels" "$1" "$(largest_of "$(sizes_of "$1")")" auto 1 clustered energy
    for problem in $more; do
        case " $there " in *" 0 "* | *" $problem "*) ;; *) solve_points rest "$1" "$problem" ;; esac
    done
    for order in lexicographic bisection random rcm morton; do kernel_points rest "$repetitions_kernels" "$1" "$reference" $order; done
    for plastic in 0 0.01 0.1 0.2 0.5 1; do
        for pattern in clustered scattered zones; do
            kernel_points rest "$repetitions_kernels" "$1" "$reference" auto $plastic $pattern
        done
    done
    for element in tet4_p4 hex8_naive; do
        echo "rest $repetitions_kernels kernels $1 $element $reference auto 1 clustered"
    done
    kernel_points rest "$repetitions_kernels" "$1" "$reference" auto 1 clustered materials4
    for size in $further; do kernel_points rest "$repetitions_kernels" "$1" "$size" auto; done
    for order in bisection random; do kernel_points rest "$repetitions_kernels" "$1" "irregular@$reference" $order; done
}
# Rows of linear hardening at these sizes are in an earlier pass.
hardening_points() { # BACKEND
    [ "$1" = host ] && size=$(first_of "$SIZES_host") || size=$(largest_of "$SIZES_cuda")
    kernel_points hardening "$repetitions_kernels" "$1" "$size" auto 1 clustered voce | grep ' tet4 \| hex8 ' || true
}
# The rows of double precision that these are compared with are in an earlier pass.
precision_points() { # BACKEND
    [ "$1" = host ] && sizes=$(first_of "$SIZES_host") meshes=$MESHES_host ||
        sizes="$(largest_of "$SIZES_cuda") $(first_of "$SIZES_cuda")" meshes=$MESHES_cuda
    for size in $sizes $(echo "$meshes" | tr ' ' '\n' | grep '^irregular@' || true); do
        for precision in mixed single; do
            kernel_points precision "$repetitions_kernels" "$1" "$size" auto 1 clustered $precision | grep ' tet4 \| hex8 ' || true
        done
    done | awk '!seen[$0]++'
}
all_points() {
    kernel_points first "$repetitions_first" $first_backend "$(first_of "$(sizes_of $first_backend)")" auto
    if has cuda; then
        solve_points solves cuda $SOLVES_cuda
        large=$(largest_of "$SIZES_cuda")
        for size in $large $MESHES_cuda; do kernel_points sizes "$repetitions_kernels" cuda "$size" auto; done
        kernel_points sizes "$repetitions_kernels" cuda "$large" auto 0.2 zones
        for size in $(others_of "$SIZES_cuda"); do [ "$size" = "$large" ] || kernel_points sizes "$repetitions_kernels" cuda "$size" auto; done
        kernel_points sizes "$repetitions_kernels" cuda "$large" lexicographic
        rank_points ranks cuda
        kernel_points samples "$repetitions_kernels" cuda "$(first_of "$SIZES_cuda")" auto
    fi
    if has host; then
        solve_points "$(has cuda && echo host || echo solves)" host $SOLVES_host
        peer_points "$(has cuda && echo host || echo solves)" $SOLVES_host
        for size in $SIZES_host $MESHES_host; do kernel_points host "$repetitions_kernels" host "$size" auto; done
        rank_points host host
    fi
    for backend in $BACKENDS; do precision_points "$backend"; done
    ! has cuda || for size in irregular@20000000 slender@6000000 127x128x129; do kernel_points meshes "$repetitions_kernels" cuda "$size" auto; done
    for backend in $BACKENDS; do hardening_points "$backend"; done
    for backend in $BACKENDS; do rest_points "$backend"; done
}

# Seconds that a point will take: a guess for two cores or one GPU, times what points of its kind took beyond their
# guesses so far (the guess counts like 10 s that were seen). In $scratch/seen: KIND GUESS SECONDS.
predict() {
    echo "$1" | awk -v seconds=$seconds_energy -v n="$n_variant" -v few="$n_few" -v fine="$fine" -v seen="$scratch/seen" '
    # Twice the iterations with what one takes; a cycle of multigrid counts as three iterations.
    function solve_size() { return $6 ~ /^bracket_fine/ ? 70000 : $6 ~ /^bracket/ ? 5000 : 3 * cells ^ 3 }
    function solve_seconds(iterations, one) {
        size = solve_size()
        iterations = $6 ~ /^stretched/ ? 600 : $6 ~ /^bending|linear$/ ? 20 : 400
        if ($7 != "multigrid" && $6 !~ /^stretched/) iterations = $6 ~ /^bending/ ? 15 * cells : 20 * iterations
        one = ($7 == "multigrid" ? 3 : 1) * ($4 == "host" ? shape * size / 24000000 : 0.0001 + size / 1000000000)
        return ($4 == "host" ? 0.2 : 6) + size / 100000 + ($4 == "host" ? 1 : 2) * ($2 + 2) * iterations * one
    }
    {
        cells = $6; gsub(/[a-z_]/, "", cells)
        shape = $5 == "tet4" ? 1 : $5 == "hex8_naive" ? 5 : 2
        whole = $3 == "scaling" && $6 ~ /[^0-9]/ # each process holds and cuts the mesh
        if ($3 == "kernels" || $3 == "scaling") {
            if ($6 == "bracket") $6 = fine ? 5500000 : 12000000
            else if ($6 ~ /^bracket[0-9]$/) $6 = 3000 * 8 ^ substr($6, 8)
            else if (split($6, part, "x") == 3) $6 = 3 * part[1] * part[2] * part[3]
            else sub(/.*@/, "", $6)
        }
        size = $3 == "scaling" && $7 == "strong" ? $6 / $8 : $6 # of a rank
        if ($3 == "solves") guess = few * solve_seconds()
        else if ($3 == "peers") guess = 1 + ($2 + 1) * solve_size() / 20000
        else if ($3 == "scaling") guess = few * ($4 == "host" ? 0.5 + shape * size / 10000 : 2 + size / 900000) + (whole ? $6 / 400000 : 0)
        else if ($4 == "host") guess = n * (0.1 * $2 + shape * size / 60000)
        else guess = n * (0.3 + 0.12 * $2 + size / (shape == 1 ? 3000000 : 5000000))
        if ($NF == "energy") guess += 5 * n * (seconds + 0.5) # of all operations
        took = from = 10
        while ((getline line < seen) > 0) {
            split(line, part, " ")
            if (part[1] == $3 "-" $4) { from += part[2]; took += part[3] }
        }
        printf "%.1f %.1f\n", guess, guess * took / from
    }'
}

# All finished points under one header, in one order (of solves and scaling, rows of a point stay in theirs). Rows of points that
# were killed stand in for them.
gather_one() { # target, sort keys, files
    target=$1 keys=$2
    shift 2
    [ $# -gt 0 ] || return 0
    { head -n 1 "$1" && awk 'FNR > 1' "$@" | sort -s -t, $keys; } >"$scratch/$target" && mv "$scratch/$target" "$folder/$target"
}
finished() { for file in "$scratch"/$1; do [ ! -f "$file" ] || echo "$file"; done; }
gather() {
    gather_one kernels.csv "-k4,4 -k9,9 -k11,11 -k13,13 -k12,12 -k15,15n -k16,16 -k8,8" $(finished 'kernels-*.rows.csv') $(finished 'kernels-*.killed.csv') &&
        gather_one solves.csv "-k8,8 -k14,14 -k13,13 -k10,10n -k2,2" $(finished 'solves-*.rows.csv') $(finished 'solves-*.killed.csv') \
            $(finished 'peers-*.rows.csv') $(finished 'peers-*.killed.csv') &&
        gather_one samples.csv "-k1,1 -k4,4 -k6,6 -k8,8 -k7,7 -k9,9n -k10,10 -k3,3" $(finished 'kernels-*.samples.csv') &&
        gather_one scaling.csv "-k4,4 -k9,9 -k10.1,10.4 -k15,15n -k6,6n" $(finished 'scaling-*.rows.csv') $(finished 'scaling-*.killed.csv') || full_disk
}

# mesh_flags PREFIX: the flags of kernels and scaling that make the mesh `size`.
mesh_flags() {
    coarse=meshgen/bracket/bracket_${element%%_*}_coarse.msh
    case $size in
    *@*) echo "$1mesh=${size%@*} $1dofs=${size#*@}" ;;
    *x*x*) echo "$1mesh=$size" ;;
    bracket) [ -n "$fine" ] && echo "$1mesh=$scratch/bracket_${element%%_*}_finer.msh $1refine=2" || echo "$1mesh=$coarse $1refine=4" ;;
    bracket[0-9]) echo "$1mesh=$coarse $1refine=${size#bracket}" ;;
    *) echo "$1dofs=$size" ;;
    esac
}
# measure ROWS [FLAG...]: one point's rows into the file ROWS. The program runs beside the shell, which so hears
# an interruption at once.
measure() {
    rows=$1 launch=
    shift
    rm -f "$rows" "$at.samples.part" # of an attempt that was killed: rows are added
    case $program in
    kernels)
        case $special in
        voce) set -- --fe_hardening=voce --fe_operations=residual,material "$@" ;;
        materials*) set -- --fe_materials="${special#materials}" "$@" ;;
        ?*) set -- --fe_precision="$special" "$@" ;;
        esac
        set -- $(mesh_flags --fe_) --fe_backend="$backend" --fe_elements="$element" --fe_order="$order" \
            --fe_plastic="$plastic" --fe_pattern="$pattern" ${energy:+--fe_energy=$seconds_energy} ${THREADS:+--fe_threads="$THREADS"} ${variants:+--fe_variants="$variants"} \
            --fe_rows="$rows" --benchmark_repetitions="$repetitions" "$@"
        ;;
    solves | peers)
        load=steps
        case $problem in
        *_linear | bending*) load=linear ;;
        stretched*) load=fixed ;;
        esac
        case $problem in
        bracket_fine*) set -- meshgen/bracket/bracket.json --mesh "$scratch/bracket_$element.msh" "$@" ;;
        bracket*) set -- meshgen/bracket/bracket_coarse.json --mesh "meshgen/bracket/bracket_${element}_coarse.msh" "$@" ;;
        bending*) set -- bench/problems/bending.json --cells "${problem#bending}" --element "$element" "$@" ;;
        stretched*) set -- bench/problems/stretched.json --cells "${problem#stretched}" --element "$element" "$@" ;;
        esac
        set -- --repetitions "$repetitions" --precondition "$precondition" --rows "$rows" "$@"
        if [ $program = peers ]; then
            launch="env OMP_NUM_THREADS=1 mpirun -n $ranks"
        else
            set -- --load $load --backend "$backend" --ranks "$ranks" ${THREADS:+--threads "$THREADS"} --variants "$few" "$@"
        fi
        ;;
    scaling)
        [ "$kind" = strong ] || set -- --weak "$@"
        [ "$backend" = cuda ] || set -- --threads "${THREADS:-1}" "$@"
        set -- --repetitions "$repetitions" --backend "$backend" --elements "$element" $(mesh_flags --) --ranks "$ranks" \
            --variants "$few" --rows "$rows" "$@"
        ;;
    esac
    beside "$at.log" $launch "$scratch/$program" "$@"
}
# beside LOG COMMAND...: runs beside the shell; its exit code is in `code`.
beside() {
    log=$1 code=0
    shift
    "$@" >"$log" 2>&1 &
    child=$!
    wait "$child" || code=$?
    child=
}
# The fine mesh of the bracket, made when the first point needs it; for kernels and ranks a finer one.
bracket_mesh() { # [_finer]
    shape=${element%%_*} mesh=$scratch/bracket_${element%%_*}${1:-}.msh
    [ ! -f "$mesh" ] || return 0
    case $shape${1:-} in
    hex8) fineness=1.75 ;;
    tet4) fineness=1.45 ;;
    hex8_finer) fineness=1.5 ;;
    tet4_finer) fineness=1.25 ;;
    esac
    beside "$scratch/gmsh.log" "$python" meshgen/bracket/bracket.py --element "$shape" --size "$fineness" --binary -o "$scratch/new.msh"
    if [ $code -ne 0 ] || ! mv "$scratch/new.msh" "$mesh"; then
        echo "bench: $name cannot be measured: Gmsh made no mesh of the bracket: $(tail -n 1 "$scratch/gmsh.log")" >&2
        refused=$((refused + 1))
        return 1
    fi
}
# The same without running anything: rows with a status.
give_up() {
    case $program in
    kernels) measure "$at.killed.csv" --fe_give_up="$1" ;;
    *) measure "$at.killed.csv" --give-up "$1" ;;
    esac
}

# Rows, tables and figures of all that is finished.
publish() {
    [ -z "$ungathered" ] || gather
    ungathered=
    { [ ! -f "$scratch/left-out" ] || cat "$scratch/left-out"; } >"$scratch/left-out.new" && mv "$scratch/left-out.new" "$folder/left-out.txt" || full_disk
    [ -s "$folder/left-out.txt" ] || rm -f "$folder/left-out.txt"
    [ -f "$folder/kernels.csv" ] || [ -f "$folder/solves.csv" ] || [ -f "$folder/scaling.csv" ] || fail "no point could be measured"
    sh bench/tabulate.sh "$folder" || full_disk
    sh plots/plots.sh "$folder" 2>"$scratch/plots.log" || sort -u "$scratch/plots.log" >&2 # it says what it left out
}
clock() { echo "$1" | awk '{ printf "%d:%02d", $1 / 60, $1 % 60 }'; } # seconds as 1:05

# attempt: measures the point that program, backend, element, size, first, second, third, fourth and repetitions say.
attempt() {
    case $program-$size in
    *-bracket_fine*) bracket_mesh || return 0 ;;
    kernels-bracket | scaling-bracket) [ -z "$fine" ] || bracket_mesh _finer || return 0 ;;
    esac
    begin=$(now)
    case $program in
    kernels)
        measure "$at.rows.part" --fe_machine="$folder/machine.csv" --fe_samples="$at.samples.part" --benchmark_out="$at.json.part"
        ;;
    *) measure "$at.rows.part" ;;
    esac
    grep "^$program: \|^note: --fe_energy" "$at.log" >&2 || true # rows without times or energy, and why
    ungathered=yes
    if [ $code -eq 0 ]; then
        [ -n "$energy" ] || # its time is given, or nothing where no counter can be read
            echo "$program-$backend $guess $(($(now) - begin))" >>"$scratch/seen"
        if [ $program = kernels ]; then
            mv "$at.json.part" "$at.json"
            mv "$at.samples.part" "$at.samples.csv"
        fi
        mv "$at.rows.part" "$at.rows.csv"
        [ -z "$energy" ] || : >"$at.energy"
        echo "$repetitions" >"$at.done" # last: this one says that the point is complete
        rm -f "$at.killed.csv"
        measured=$((measured + 1))
        return
    fi
    room || full_disk
    [ $program-$code != kernels-2 ] || exit 1
    rm -f "$at".*.part
    status=
    if [ $code -gt 128 ]; then
        status=killed failed=$((failed + 1))
        echo "bench: $name was killed (out of memory, or a crash); the sweep goes on" >&2
    elif [ $program = kernels ]; then
        failed=$((failed + 1))
    elif [ $code -eq 2 ]; then
        refused=$((refused + 1))
        echo "bench: $name cannot be measured here; the sweep goes on" >&2
    elif grep -q 'no memory for' "$at.log"; then
        status=out_of_memory refused=$((refused + 1))
        echo "bench: $name does not fit; the sweep goes on" >&2
    else
        status=failed failed=$((failed + 1))
        echo "bench: $name failed; the sweep goes on" >&2
    fi
    if [ -n "$status" ]; then
        mv "$at.log" "$at.killed.log"
        [ -f "$at.rows.csv" ] || give_up $status
    fi
}

# A point of the plan: measured, kept, or left out for time.
visit() {
    energy=
    [ "$fourth" != energy ] || energy=yes fourth= # the rows replace those without energy
    name=$program-$backend-$element-$size-$first-$second${third:+-$third}${fourth:+-$fourth} at=$scratch/$name
    case $size in *[!0-9]*) unit= ;; *) unit=' DoF' ;; esac
    case $program in
    kernels) order=$first plastic=$second pattern=$third special=$fourth about="$size$unit, $order, plastic $plastic $pattern${special:+, $special}${energy:+, energy}" ;;
    solves | peers) problem=$size precondition=$first ranks=$second about="$problem, $precondition, $ranks $([ "$ranks" = 1 ] && echo rank || echo ranks)" ;;
    scaling) kind=$first ranks=$second about="$size$unit$([ "$kind" = strong ] || echo ' a rank'), $kind, $ranks $([ "$ranks" = 1 ] && echo rank || echo ranks)" ;;
    esac
    lacks_energy=$energy
    if [ -f "$at.energy" ]; then energy=yes lacks_energy=; fi # more samples, and energy again
    taken=$(cat "$at.done" 2>/dev/null || echo 0)
    if [ -z "$lacks_energy" ] && [ -f "$at.rows.csv" ] && [ "$taken" -ge "$repetitions" ]; then
        kept=$((kept + 1))
        return
    fi
    [ "$taken" -le "$repetitions" ] || repetitions=$taken
    predicted=$(predict "$pass $repetitions $program $backend $element $size $first $second $third ${energy:+energy}")
    guess=${predicted% *} predicted=${predicted#* }
    limit=$budget
    case $pass in
    solves) limit=$((budget * 3 / 5)) ;;
    sizes | ranks | samples) ! has host || limit=$((budget * 4 / 5)) ;; # the host has its share
    esac
    elapsed=$(($(now) - start))
    if [ "$pass" != first ] && [ "$budget" -gt 0 ] && awk "BEGIN { exit !($elapsed + $predicted > $limit) }"; then
        if [ ! -f "$at.rows.csv" ] || [ -n "$lacks_energy" ]; then
            left=$((left + 1))
            echo "$backend $element, $about" >>"$scratch/left-out"
        fi
        return
    fi
    [ "$budget" -eq 0 ] && of= || of=" of $(clock "$budget")"
    echo "$elapsed $predicted" | awk -v at="$(clock $elapsed)$of" -v pass="$pass" -v point="$backend $element, $about" \
        '{ printf "bench: %s  %-7s %s (about %.0f s)\n", at, pass, point, $2 }'
    attempt
}

# Can Gmsh make the bracket's fine meshes? Its Python module may be the distribution's alone.
fine= python=python3
case " $SOLVES_cuda $SOLVES_host $MESHES_cuda $MESHES_host $STRONG_cuda $STRONG_host " in
*" bracket "*)
    for python in python3 /usr/bin/python3; do
        [ -n "$fine" ] || ! "$python" -c 'import gmsh' 2>/dev/null || { fine=yes && break; }
    done
    [ -n "$fine" ] || echo "bench: Gmsh's Python interface is not there (apt-get install python3-gmsh): the bracket's coarse meshes, refined, alone" >&2
    ;;
esac

all_points | awk -v passes="${PASSES:-}" 'passes == "" || index(" " passes " ", " " $1 " ")' >"$scratch/points" || full_disk
total=$(cut -d' ' -f3- "$scratch/points" | sort -u | wc -l)
budget=$((60 * BUDGET))
echo "bench: $n_variant variants on $machine, commit $commit, into $folder"
if [ "$BUDGET" -eq 0 ]; then
    echo "bench: all $total points, without a limit of time (BUDGET=0)"
else
    echo "bench: a budget of $BUDGET minutes, building included, for the first of $total points: BUDGET=minutes takes more of them"
fi
case $commit in *-dirty) echo "bench: there are changes since the commit: these results are for a look, not for keeping" ;; esac

rm -f "$scratch/left-out"
: >>"$scratch/seen"
left=0 kept=0 measured=0 failed=0 refused=0 ungathered=yes last_pass=
while read -r pass repetitions program backend element size first second third fourth <&3; do
    if [ -n "$last_pass" ] && [ "$pass" != "$last_pass" ]; then
        [ -z "$ungathered" ] || publish
        [ "$last_pass" != first ] ||
            echo "bench: the first table and figures are there after $(clock $(($(now) - start))): $folder/table.md"
    fi
    last_pass=$pass
    visit
done 3<"$scratch/points"

# Time is left: points whose intervals are wide once more, with twice the samples; the widest first.
wide() {
    for file in "$scratch"/kernels-*.rows.csv; do
        [ "$(cat "${file%.rows.csv}.done")" -lt $((2 * repetitions_kernels)) ] || continue
        awk -F, -v name="$(basename "${file%.rows.csv}")" '
            FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
            $NF == "ok" { n++; width = ($column["ci95_high_s"] - $column["ci95_low_s"]) / $column["median_s"]; if (width > 0.05) wide++; sum += width }
            END { if (n && wide > n / 10) print sum / n, name }' "$file"
    done | sort -rn
}
if [ "$BUDGET" -gt 0 ] && [ -z "$REPETITIONS" ]; then
    wide >"$scratch/wide"
    while read -r width name <&3; do
        echo "samples $((2 * repetitions_kernels)) $(echo "$name" | tr - ' ')" >"$scratch/again"
        read -r pass repetitions program backend element size first second third fourth <"$scratch/again"
        visit
    done 3<"$scratch/wide"
fi

publish
elapsed=$(($(now) - start))
rm -f "$scratch/kernels" "$scratch/solves" "$scratch/peers" "$scratch/scaling"
there_now=
for file in table.md kernels.csv solves.md solves.csv scaling.md scaling.csv; do
    [ ! -f "$folder/$file" ] || there_now="$there_now $file"
done
[ "$measured" -gt 0 ] || [ "$left" -gt 0 ] || echo "bench: all points were there; for new ones, in a new folder: rm -r $scratch"
[ "$left" -eq 0 ] || echo "bench: $left points were left out for time ($folder/left-out.txt); make bench again goes on, BUDGET=$((2 * BUDGET)) takes more at once"
echo "bench: $measured points in $(clock $elapsed); results are in $folder:$there_now"
for rows in kernels.csv solves.csv scaling.csv; do [ ! -f "$folder/$rows" ] || cat "$folder/$rows"; done |
    awk -F, '$NF != "ok" && $NF != "status" { n[$NF]++ } END { for (s in n) print "bench: rows without times: " n[s] " " s }' >&2
[ $failed -eq 0 ] || fail "$failed points failed; run it again to try them once more"
