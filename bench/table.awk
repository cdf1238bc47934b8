# Markdown tables of kernels.csv: for each backend and element the largest size that has times, one line a
# variant, one column an operation. Cells: median of 1e6 DoF/s and its 95 % interval. A bold cell is the fastest
# of its column by intervals that do not overlap; where no cell of a column is bold, the rows cannot tell.
BEGIN { FS = "," }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
# one table per backend, element, order and plastic share; the largest size wins
{
    key = get("backend") SUBSEP get("element") SUBSEP get("order") SUBSEP get("plastic")
    if (!(key in largest)) { keys[++n_key] = key; largest[key] = -1 }
    dof = get("n_dof") + 0
    if (get("status") == "ok" && dof > largest[key]) largest[key] = dof
    if (!(get("operation") in seen_op)) { seen_op[get("operation")] = 1 }
    line[++n_line] = $0
}
function rate(dofs, seconds) { return 1e-6 * dofs / seconds }
function number(x) { return x >= 1000 ? sprintf("%.0f", x) : x >= 100 ? sprintf("%.1f", x) : sprintf("%.2f", x) }
function cell(at, op,    v, other, best) {
    if (status[at, op] != "ok") return status[at, op] == "" ? "" : status[at, op]
    best = 1
    for (v = 1; v <= n_variant; v++) {
        other = variants[v]
        if (other != at && status[other, op] == "ok" && high[other, op] >= low[at, op]) best = 0
    }
    v = number(median[at, op]) " (" number(low[at, op]) "–" number(high[at, op]) ")"
    return best && n_variant > 1 ? "**" v "**" : v
}
END {
    n_op = split("residual material jacvec_elastic jacvec diagonal", ops, " ")
    for (k = 1; k <= n_key; k++) {
        key = keys[k]
        if (largest[key] < 0) continue
        split(key, part, SUBSEP)
        n_variant = 0
        delete variants; delete known; delete median; delete low; delete high; delete status
        delete bytes; delete work; delete setup; delete error; delete fixed
        for (i = 1; i <= n_line; i++) {
            $0 = line[i]
            if (get("backend") SUBSEP get("element") SUBSEP get("order") SUBSEP get("plastic") != key) continue
            if (get("n_dof") + 0 != largest[key]) continue
            at = get("variant"); op = get("operation")
            if (!(at in known)) { known[at] = 1; variants[++n_variant] = at }
            machine = get("machine"); device = get("device"); commit = get("commit"); threads = get("threads")
            repetitions = get("repetitions") > 0 ? get("repetitions") : repetitions
            status[at, op] = get("status")
            if (get("status") == "ok") {
                median[at, op] = rate(get("n_dof"), get("median_s"))
                low[at, op] = rate(get("n_dof"), get("ci95_high_s"))
                high[at, op] = rate(get("n_dof"), get("ci95_low_s"))
            }
            bytes[at] = get("bytes"); work[at] = get("bytes_work"); setup[at] = get("setup_s")
            fixed[at] = get("deterministic")
            if (!(at in error) || get("error") + 0 > error[at] + 0) error[at] = get("error")
        }
        if (k == 1) printf "# Kernels on %s, commit %s\n\nMedian throughput in 10⁶ DoF/s with its 95 %% interval. Bold: fastest of its column, by intervals that do not overlap. Columns: `results/README.md`.\n", machine, commit
        printf "\n## %s on %s, %d DoF, %s order, %g plastic\n\n", part[2], part[1], largest[key], part[3], part[4]
        printf "%s%s, %d repetitions.\n\n", device, part[1] == "host" ? ", " threads " threads" : "", repetitions
        head = "| variant |"; rule = "|---|"
        for (o = 1; o <= n_op; o++) { head = head " " ops[o] " |"; rule = rule "---:|" }
        print head " bytes/DoF | of these own | set-up ms | largest error | deterministic |"
        print rule "---:|---:|---:|---:|---|"
        for (v = 1; v <= n_variant; v++) {
            at = variants[v]
            text = "| `" at "` |"
            for (o = 1; o <= n_op; o++) text = text " " cell(at, ops[o]) " |"
            printf "%s %.0f | %.0f | %.2f | %s | %s |\n", text, bytes[at] / largest[key], work[at] / largest[key], 1e3 * setup[at], error[at], fixed[at] ? "yes" : "no"
        }
    }
}
