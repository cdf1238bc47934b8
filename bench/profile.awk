# Markdown table of what Nsight Compute measured, a CSV of its raw page (runner/studies.py), compared with the model in
# the rows of the same run.
#   awk -v element=hex8 -v rows=profile-hex8.rows -f bench/profile.awk profile-hex8.csv
BEGIN {
    FS = ","
    for (line = 0; (getline < rows) > 0; line++) {
        if (line == 0)
            for (i = 1; i <= NF; i++) at[$i] = i
        else {
            dofs = $at["n_dof"]
            if ($at["bytes_moved"] != "") model[$at["operation"]] = $at["bytes_moved"] / dofs
        }
    }
    FS = "\",\""
}
{ gsub(/^"|"$/, "") }
NR == 1 {
    for (i = 1; i <= NF; i++) column[$i] = i
    print "\n## " element ", " dofs " DoF\n"
    print "| kernel | time µs | registers | spilled accesses per thread | shared memory per block, B | warps that fit | warps active | memory, B/DoF | modelled | FP64, flop/DoF | atomic lanes/DoF, at most |"
    print "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    next
}
function get(name) { return $(column[name]) }
function op(kind) { return get("smsp__sass_thread_inst_executed_op_" kind "_pred_on.sum") }
# Bytes that the whole operation has to move, even if it has several kernels; empty for kernels that are not named
# after an operation.
function modelled(kernel) {
    if (kernel !~ /_jacvec_/) return ""
    return sprintf("%.0f", model[kernel ~ /_jacvec_elastic_/ ? "jacvec_elastic" : "jacvec"])
}
NR > 2 {
    kernel = get("Kernel Name")
    if (kernel ~ /bsrmv/) kernel = "cuSPARSE bsrmv"
    sub(/\(.*/, "", kernel)
    if (kernel ~ /^fingerprint|^material/) next
    threads = get("launch__block_size") * get("launch__grid_size")
    printf "| `%s` | %.1f | %d | %.1f | %d | %.0f %% | %.0f %% | %.0f | %s | %.0f | %.1f |\n", kernel,
        get("gpu__time_duration.sum") / 1000, get("launch__registers_per_thread"),
        32 * (get("smsp__inst_executed_op_local_ld.sum") + get("smsp__inst_executed_op_local_st.sum")) / threads,
        get("launch__shared_mem_per_block"), get("sm__maximum_warps_per_active_cycle_pct"),
        get("sm__warps_active.avg.pct_of_peak_sustained_active"), get("dram__bytes.sum") / dofs, modelled(kernel),
        (op("dadd") + op("dmul") + 2 * op("dfma")) / dofs,
        32 * get("l1tex__t_requests_pipe_lsu_mem_global_op_red.sum") / dofs | "sort"
}
