# Markdown tables of a scaling.csv.
#
# For each backend, element, kind and size: one line per variant and operation, with the time on each number of
# ranks, its ratio to one rank, and the cost of communication on the largest number of ranks; then the exchange of
# ghosts and sums alone. The interval of a ratio follows from those of both times. results/README.md defines all
# numbers. results/scaling_case.awk is loaded first.
BEGIN { FS = "," }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
function note(list, value,    i) { # appends a value to a list unless it is there
    for (i = 1; i <= count[list]; i++) if (item[list, i] == value) return
    item[list, ++count[list]] = value
}
{
    split(get("case"), part, "-")
    mesh = mesh_of(get("case"))
    ranks = get("ranks") + 0
    # weak boxes are told apart by the cells of one rank
    if (part[1] == "weak") { split(substr(mesh, 4), cells, "x"); mesh = cells[1] * cells[2] * cells[3] / ranks }
    group = get("backend") SUBSEP get("element") SUBSEP part[1] SUBSEP mesh SUBSEP (part[1] == "weak" ? "" : get("n_dof"))
    variant = get("variant"); op = get("operation")
    machine = get("machine"); note("commits", get("commit"))
    note("groups", group)
    note(group SUBSEP "ranks", ranks)
    one_way(group, get("case"), ranks)
    dof[group, ranks] = get("n_dof"); grid[group, ranks] = part[2]; by[group, ranks] = part[3]
    about[group] = get("device") (get("backend") == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") " per rank" : "") \
        ", " get("order") " order, "
    if (variant != "none") {
        note(group SUBSEP "variants", variant)
        if (op !~ /_local/) note(group SUBSEP "operations", op)
    }
    if (get("status") != "ok") { status[group, variant, ranks] = get("status"); next }
    at = group SUBSEP op SUBSEP variant SUBSEP ranks
    median[at] = get("median_s"); low[at] = get("ci95_low_s"); high[at] = get("ci95_high_s")
    bytes[at] = get("bytes_moved")
    if (variant != "none" && (!least[group] || median[at] < least[group])) least[group] = median[at]
    repetitions[group] = get("repetitions")
}
function number(x) { return sprintf(x >= 1000 ? "%.0f" : x >= 100 ? "%.1f" : x >= 10 ? "%.2f" : "%.3f", x) }
function time(at, unit) { return number(median[at] / unit) " (" number(low[at] / unit) "–" number(high[at] / unit) ")" }
function percent(x) { x = sprintf("%.0f", 100 * x); return x == "-0" ? "0" : x }
function clip(x) { return x < 0 ? 0 : x > 1 ? 1 : x }
# The time of the same operation without the exchange of ghosts: jacvec_local, jacvec_local_graph.
function local_of(op) { return op ~ /_graph$/ ? substr(op, 1, length(op) - 6) "_local_graph" : op "_local" }
# Time on one rank over time on n.
function gain(one, many) {
    if (!(one in median) || !(many in median)) return ""
    return sprintf("%.2f (%.2f–%.2f)", median[one] / median[many], low[one] / high[many], high[one] / low[many])
}
function overlap(a, b) { return low[a] <= high[b] && low[b] <= high[a] }
function share(all, own,    from, to) {
    if (!(all in median) || !(own in median)) return ""
    from = 1 - high[own] / low[all]; to = 1 - low[own] / high[all]
    if (overlap(all, own)) return "cannot tell, at most " percent(to) " %"
    return percent(1 - median[own] / median[all]) " % (" percent(from) " to " percent(to) ")"
}
# The share of the exchange's own time by which the operation did not become longer.
function hidden(all, own, exchange,    middle, from, to) {
    if (!(all in median) || !(own in median) || !(exchange in median)) return ""
    middle = clip(1 - (median[all] - median[own]) / median[exchange])
    from = clip(1 - (high[all] - low[own]) / low[exchange])
    to = clip(1 - (low[all] - high[own]) / high[exchange])
    if (overlap(all, own)) return "cannot tell" (from >= 0.01 ? ", at least " percent(from) " %" : "")
    return percent(middle) " % (" percent(from) " to " percent(to) ")"
}
function operations(group, kind, n, count_of,    i, k, v, op, unit, unit_name, head, rule, text, cell, filled, at, most, variant) {
    unit = least[group] >= 1e-4 ? 1e-3 : 1e-6; unit_name = unit == 1e-3 ? "ms" : "µs"
    most = count_of[n]
    head = "| variant | operation |"; rule = "|---|---|"
    for (i = 1; i <= n; i++) { head = head " " count_of[i] (count_of[i] > 1 ? " ranks, " : " rank, ") unit_name " |"; rule = rule "---:|" }
    for (i = 1; i <= n; i++)
        if (count_of[i] > 1) { head = head (kind == "strong" ? " speed-up on " : " efficiency on ") count_of[i] " |"; rule = rule "---:|" }
    if (most > 1) { head = head " communication on " most " | exchange hidden on " most " |"; rule = rule "---:|---:|" }
    print head; print rule
    for (v = 1; v <= count[group, "variants"]; v++)
        for (k = 1; k <= count[group, "operations"]; k++) {
            variant = item[group, "variants", v]; op = item[group, "operations", k]
            text = "| `" variant "` | `" op "` |"; filled = 0
            for (i = 1; i <= n; i++) {
                at = group SUBSEP op SUBSEP variant SUBSEP count_of[i]
                cell = at in median ? time(at, unit) : (group, variant, count_of[i]) in status ? status[group, variant, count_of[i]] : ""
                if (cell != "") filled = 1
                text = text " " cell " |"
            }
            for (i = 1; i <= n; i++)
                if (count_of[i] > 1)
                    text = text " " gain(group SUBSEP op SUBSEP variant SUBSEP 1, group SUBSEP op SUBSEP variant SUBSEP count_of[i]) " |"
            if (most > 1)
                text = text " " share(group SUBSEP op SUBSEP variant SUBSEP most, group SUBSEP local_of(op) SUBSEP variant SUBSEP most) " | " \
                    hidden(group SUBSEP op SUBSEP variant SUBSEP most, group SUBSEP local_of(op) SUBSEP variant SUBSEP most, \
                        group SUBSEP "exchange" SUBSEP "none" SUBSEP most) " |"
            if (filled) print text
        }
}
# Exchange of ghosts and sums, in the terms of nccl-tests.
function collectives(group, n, count_of,    i, k, r, at, size, algorithm, bus, shown, names) {
    split("exchange reduce1 reduce32", names, " ")
    for (i = 1; i <= n; i++) {
        r = count_of[i]
        if (r == 1) continue # nothing is sent
        for (k = 1; k <= 3; k++) {
            at = group SUBSEP names[k] SUBSEP "none" SUBSEP r
            if (!(at in median)) continue
            if (!shown++) {
                print "\n| ranks | grid, by | DoF | operation | bytes | µs | algorithm GB/s | bus GB/s |"
                print "|---:|---|---:|---|---:|---:|---:|---:|"
            }
            bus = 1e-9 * bytes[at] / median[at]
            size = k == 1 ? bytes[at] : bytes[at] * r / (2 * (r - 1)) # the row holds what crosses the bus
            algorithm = 1e-9 * size / median[at]
            printf "| %d | %s, %s | %s | `%s` | %.0f | %s | %s | %s |\n", r, grid[group, r], by[group, r], dof[group, r], names[k], \
                size, time(at, 1e-6), k == 2 ? "" : sprintf("%.3g", algorithm), k == 2 ? "" : sprintf("%.3g", bus)
        }
    }
}
END {
    if (failed) exit 1
    if (!count["groups"]) exit
    for (i = 1; i <= count["commits"]; i++) commits = commits (i > 1 ? ", " : "") item["commits", i]
    printf "# Scaling on %s, commit %s\n\n", machine, commits
    print "Median times on the slowest rank with their 95 % intervals; for `gmres_*` of one iteration. Speed-up and efficiency:"
    print "time on one rank / time on this number of ranks. Communication: the share of the time that the exchange of ghosts adds."
    print "Exchange hidden: the share of the exchange's own time that overlaps with other work. `results/README.md` defines all."
    for (g = 1; g <= count["groups"]; g++) {
        group = item["groups", g]
        split(group, name, SUBSEP)
        n = count[group, "ranks"]
        for (i = 1; i <= n; i++) { # insertion into an ascending list
            for (k = i; k > 1 && count_of[k - 1] > item[group, "ranks", i]; k--) count_of[k] = count_of[k - 1]
            count_of[k] = item[group, "ranks", i]
        }
        printf "\n## %s on %s, %s: %s\n\n%s%s repetitions.\n\n", name[2], name[1], name[3], \
            name[3] == "strong" ? (name[4] ~ /^box[0-9x]+$/ ? "" : name[4] ", ") dof[group, count_of[1]] " DoF in all" \
                : sprintf("%.0f DoF per rank", dof[group, count_of[1]] / count_of[1]), about[group], repetitions[group]
        operations(group, name[3], n, count_of)
        collectives(group, n, count_of)
    }
}
