# Markdown tables of a solves.csv.
#
# For each backend, case and element: what whole solves take, a line for each strategy, preconditioner and number of
# ranks; and where the time of a Newton iteration goes, by phases. results/README.md defines all figures.
BEGIN {
    FS = ","
    # precondition_coarse: transfers and levels together, in rows up to commit 9aa55b44a835
    n_phase = split("material residual jacvec precondition_product precondition precondition_transfer precondition_coarse precondition_level1 precondition_level2 precondition_level3 precondition_level4 precondition_level5 precondition_level6 orthogonalization reduction exchange host other", phase, " ")
    split("`material`,`residual`,`jacvec`,products of the preconditioner,preconditioner,its transfers,its coarser levels,its level 1,level 2,level 3,level 4,level 5,level 6,Krylov vectors,sums over ranks,exchange,host,other", shown, ",")
}
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
function note(list, value,    i) { # adds a value to a list that keeps the order of arrival
    for (i = 1; i <= count[list]; i++) if (item[list, i] == value) return
    item[list, ++count[list]] = value
}
{
    problem = get("case"); ranks = get("ranks") (sub(/-peer$/, "", problem) ? ", peer" : "")
    group = get("backend") SUBSEP problem SUBSEP get("element")
    line = group SUBSEP get("variant") SUBSEP get("precondition") SUBSEP ranks
    op = get("operation")
    machine = get("machine"); note("commits", get("commit"))
    note("groups", group); note(group SUBSEP "lines", line)
    if (op ~ /^solve/ && get("status") != "ok") { status[line, op] = get("status"); error[line] = get("error") }
    if (get("status") != "ok") next
    there[group, op] = 1
    median[line, op] = 1e3 * get("median_s"); low[line, op] = 1e3 * get("ci95_low_s"); high[line, op] = 1e3 * get("ci95_high_s")
    newton[line] = get("newton_iterations"); krylov[line] = get("krylov_iterations")
    if (get("setup_s") != "") setup[line] = 1e3 * get("setup_s")
    error[line] = get("error")
    dof[group] = get("n_dof")
    device[group] = get("device") (get("backend") == "host" ? ", " get("threads") * get("ranks") " threads" : "")
    if (op == "solve") repetitions[group] = get("repetitions")
    if (op ~ /^solve_/) extra[group] = op # graphs on a GPU, user time on the host
}
function number(x) { return sprintf(x >= 1000 ? "%.0f" : x >= 100 ? "%.1f" : x >= 10 ? "%.2f" : "%.3f", x) }
function time(line, op) {
    if ((line, op) in status) return status[line, op]
    if (!((line, op) in median)) return ""
    return number(median[line, op]) " (" number(low[line, op]) "–" number(high[line, op]) ")"
}
function setup_time(line, op) { # up to commit b931bb8e7b29 one sample
    op = "precondition_setup"
    if (!((line, op) in median)) return ""
    return low[line, op] < high[line, op] ? time(line, op) : number(median[line, op])
}
function solves(group,    i, line, part) {
    printf "| strategy | preconditioner | ranks | Newton | Krylov | set-up | preconditioner's set-up | solve | %s | one Newton iteration | error |\n", \
        extra[group] == "solve_user" ? "user time" : "solve, graphs"
    print "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for (i = 1; i <= count[group, "lines"]; i++) {
        line = item[group, "lines", i]
        split(line, part, SUBSEP)
        printf "| `%s` | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", part[4], part[5], part[6], newton[line], krylov[line], \
            line in setup ? number(setup[line]) : "", setup_time(line), time(line, "solve"), \
            time(line, extra[group]), \
            newton[line] && (line, "solve") in median ? number(median[line, "solve"] / newton[line]) : "", error[line]
    }
}
function phases(group,    i, k, line, part, own, text) {
    text = "| strategy | preconditioner | ranks |"
    for (k = 1; k <= n_phase; k++) if ((group, phase[k]) in there) text = text " " shown[k] " |"
    print "\n" text " the strategy's share |"
    text = "|---|---|---:|"
    for (k = 1; k <= n_phase; k++) if ((group, phase[k]) in there) text = text "---:|"
    print text "---:|"
    for (i = 1; i <= count[group, "lines"]; i++) {
        line = item[group, "lines", i]
        if (!((line, "material") in median) || !newton[line]) continue
        split(line, part, SUBSEP)
        text = "| `" part[4] "` | " part[5] " | " part[6] " |"
        for (k = 1; k <= n_phase; k++)
            if ((group, phase[k]) in there) text = text " " ((line, phase[k]) in median ? number(median[line, phase[k]] / newton[line]) : "") " |"
        own = 0
        for (k = 1; k <= 4; k++) own += median[line, phase[k]] # those of the strategy
        print text sprintf(" %.0f %% |", 100 * own / median[line, "solve"])
    }
}
END {
    if (!count["groups"]) exit
    for (i = 1; i <= count["commits"]; i++) commits = commits (i > 1 ? ", " : "") item["commits", i]
    printf "# Whole solves on %s, commit %s\n\n", machine, commits
    print "Milliseconds, medians; with the 95 % interval of `solve`, and of the preconditioner's set-up where it has several"
    print "samples. Every answer was checked against another strategy's. First what solves take, then where the time of one"
    print "Newton iteration goes. The strategy's share is `material`, `residual`, `jacvec` and the products of the"
    print "preconditioner's finest level. `results/README.md` defines all figures."
    for (g = 1; g <= count["groups"]; g++) {
        group = item["groups", g]
        split(group, name, SUBSEP)
        printf "\n## %s, %s on %s\n\n%s DoF, %s, %s repetitions.\n\n", name[2], name[3], name[1], dof[group], device[group], repetitions[group]
        solves(group)
        phases(group)
    }
}
