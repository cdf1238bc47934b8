# Markdown table of a storage.csv: throughput of each way to store states and tangents.
BEGIN { FS = ","; n_op = split("residual material jacvec diagonal", ops, " ") }
NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
{
    line = get("element") SUBSEP get("variant") SUBSEP get("storage")
    if (!(line in seen)) { seen[line] = 1; lines[++n] = line }
    unit = get("backend") == "host" ? 1e-6 : 1e-9
    name = get("backend") == "host" ? "MDoF/s" : "GDoF/s"
    value[line, get("operation")] = get("status") == "ok" ? sprintf("%.3g", unit * get("dof_per_s")) : get("status")
    if (get("operation") == "jacvec" && get("error") != "") error[line] = get("error")
    if (get("bytes") != "") bytes[line] = sprintf("%.0f", get("bytes") / get("n_dof"))
    about = get("device") ", " get("backend") ", " get("n_dof") " DoF, order " get("order") ", all elements plastic"
    if (!(get("commit") in known)) { known[get("commit")] = 1; commits = commits (commits == "" ? "" : ", ") get("commit") }
}
END {
    print "# States and tangents stored in other ways\n"
    print "Throughput, " name ": " about ",\ncommit " commits "."
    print "GROUPS: six doubles each, in groups of 32 elements. FLOATS: tangents in single precision. FULL: jacvec reads 21 doubles."
    print "RECORDS: the six numbers of a point side by side. ARRAYS: one array per component for each 65536 elements."
    print "A product by finite difference (solve --jacobian difference) costs a residual and two passes over vectors.\n"
    print "| element | variant | storage | residual | material | jacvec | diagonal | error of jacvec | memory, B/DoF |"
    print "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for (i = 1; i <= n; i++) {
        split(lines[i], part, SUBSEP)
        printf "| %s | `%s` | %s |", part[1], part[2], part[3]
        for (k = 1; k <= n_op; k++) printf " %s |", value[lines[i], ops[k]]
        print " " error[lines[i]] " | " bytes[lines[i]] " |"
    }
}
