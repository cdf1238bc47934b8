#!/bin/sh
# Measures with Nsight Compute what each kernel of jacvec uses: registers, spills, occupancy, memory traffic,
# arithmetic and atomics. The card's clocks stay as they are. One run of `kernels` per element kind; one launch
# of every kernel is profiled.
#   BUILD=build RESULTS=results/MACHINE/FOLDER [SIZE=1000000] [ORDER=lexicographic] sh bench/profile.sh
set -eu
export LC_ALL=C
BUILD=${BUILD:-build} SIZE=${SIZE:-1000000} ORDER=${ORDER:-lexicographic}
fail() { echo "profile: $*" >&2; exit 1; }
[ -n "${RESULTS:-}" ] || fail "RESULTS=FOLDER is needed: profile.csv and profile.md go there"
command -v ncu >/dev/null || fail "ncu is not there; it comes with the CUDA Toolkit"
[ -x "$BUILD/kernels" ] || fail "$BUILD/kernels is not built; run make"
mkdir -p "$RESULTS"
{
    echo "# What the kernels of jacvec use, $ORDER order"
    echo
    echo "One launch of each kernel in Nsight Compute (bench/profile.sh), commit $("$BUILD/kernels" --version | awk 'NR == 1 { print $2 }')."
    echo "patch_ordered runs the kernels of patch and then one that adds its partial sums; it was left out."
    echo "element_color launches one kernel per colour; one of them was measured. Modelled: bytes that the whole operation has to"
    echo "move if caches hold everything that is used twice (results/README.md)."
} >"$RESULTS/profile.part"
metrics=launch__registers_per_thread,launch__shared_mem_per_block,launch__block_size,launch__grid_size
metrics=$metrics,sm__maximum_warps_per_active_cycle_pct,sm__warps_active.avg.pct_of_peak_sustained_active
metrics=$metrics,gpu__time_duration.sum,dram__bytes.sum,lts__t_bytes.sum,smsp__inst_executed_op_local_ld.sum
metrics=$metrics,smsp__inst_executed_op_local_st.sum,smsp__sass_thread_inst_executed_op_dadd_pred_on.sum
metrics=$metrics,smsp__sass_thread_inst_executed_op_dmul_pred_on.sum
metrics=$metrics,smsp__sass_thread_inst_executed_op_dfma_pred_on.sum
metrics=$metrics,l1tex__t_requests_pipe_lsu_mem_global_op_red.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
metrics=$metrics,smsp__sass_thread_inst_executed_op_memory_pred_on.sum
# kernels are told apart by their names alone
variants=element_only,$("$BUILD/kernels" --fe_list | awk '{ print $1 }' | grep -vx patch_ordered | paste -sd, -)
for element in tet4 hex8; do
    echo "profile: $element, about $SIZE DoF"
    # the 30th launch of a kernel comes after its checks, in the state of its operation
    ncu --clock-control none --csv --page raw --print-units base --metrics "$metrics" --kernel-name regex:. \
        --kernel-id ":::30" --target-processes all \
        "$BUILD/kernels" --fe_backend=cuda --fe_elements=$element --fe_dofs="$SIZE" --fe_order="$ORDER" \
        --fe_variants="$variants" --fe_operations=jacvec_elastic,jacvec --fe_rows="$RESULTS/profile-$element.rows" \
        --benchmark_repetitions=1 >"$RESULTS/profile-$element.raw" 2>"$RESULTS/profile-$element.log" ||
        fail "ncu failed: $(tail -n 1 "$RESULTS/profile-$element.log")"
    grep '^"' "$RESULTS/profile-$element.raw" >"$RESULTS/profile-$element.csv" || fail "no kernel was profiled"
    awk -v element=$element -v rows="$RESULTS/profile-$element.rows" -f bench/profile.awk "$RESULTS/profile-$element.csv" >>"$RESULTS/profile.part"
    rm "$RESULTS/profile-$element".*
done
mv "$RESULTS/profile.part" "$RESULTS/profile.md"
