# What breakdown.gp draws of one backend, as a gnuplot script; nothing where no solve by Newton's method has times.
#   awk -v backend=host -f plots/breakdown.awk variants/variants.def solves.csv
# A panel is a case and an element (row) with one preconditioner (column), on one rank: a bar for each strategy, a piece
# of it for each phase, milliseconds per Newton iteration.
BEGIN {
    FS = ","
    # precondition_coarse: transfers and levels together, in rows up to commit 9aa55b44a835
    n_phase = split("material residual jacvec precondition_product precondition precondition_coarse precondition_transfer precondition_level1 precondition_level2 precondition_level3 precondition_level4 precondition_level5 precondition_level6 orthogonalization reduction exchange host other", phase, " ")
    for (i = 1; i <= n_phase; i++) place_of[phase[i]] = i
}
FNR == 1 { file++ }
file == 1 && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); variant[++n_variant] = $0; order[$0] = n_variant }
file == 1 { next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
function number_of(value, list,    i) { # in the order of arrival
    for (i = 1; i <= count[list]; i++) if (item[list, i] == value) return i
    item[list, ++count[list]] = value
    return count[list]
}
get("backend") == backend && get("status") == "ok" && get("ranks") == 1 && get("case") !~ /-linear$/ && get("operation") in place_of &&
    get("newton_iterations") > 0 && get("variant") in order {
    row = number_of(get("case") " " get("element"), "rows")
    col = number_of(get("precondition"), "columns")
    at = row SUBSEP col SUBSEP get("variant")
    time[at, place_of[get("operation")]] = 1e3 * get("median_s") / get("newton_iterations")
    used_phase[place_of[get("operation")]] = 1
    has[at] = 1; filled[row, col] = 1; used[get("variant")] = 1; size[row] = get("n_dof")
    device = get("device") (backend == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") : ""); commit = get("commit")
}
END {
    if (!count["rows"]) exit
    for (v = 1; v <= n_variant; v++) if (variant[v] in used) { strategies = strategies " " variant[v]; x[variant[v]] = ++n_used }
    print "# columns: row, column, place of the strategy, phase, from, to (ms)"
    print "$pieces << EOD"
    for (r = 1; r <= count["rows"]; r++)
        for (c = 1; c <= count["columns"]; c++) {
            if ((r, c) in filled) panels = panels " " r "." c
            for (v = 1; v <= n_variant; v++) {
                if (!((r, c, variant[v]) in has)) continue
                from = 0
                piece = 0
                for (k = 1; k <= n_phase; k++) {
                    if (!(k in used_phase)) continue
                    to = from + time[r, c, variant[v], k]
                    print r, c, x[variant[v]], ++piece, from, to
                    from = to
                }
                if (from > most[r, c]) most[r, c] = from
            }
        }
    print "EOD"
    for (r = 1; r <= count["rows"]; r++) {
        split(item["rows", r], part, " ")
        printf "case_%d = '%s'\nelement_%d = '%s'\nsize_%d = %d\n", r, part[1], r, part[2], r, size[r]
        for (c = 1; c <= count["columns"]; c++) printf "most_%d_%d = %g\n", r, c, most[r, c]
    }
    for (c = 1; c <= count["columns"]; c++) columns = columns " " item["columns", c]
    for (k = 1; k <= n_phase; k++) if (k in used_phase) { variants = variants " " phase[k]; types = types " " ++n_used_phase; printf "place_%s = %d\n", phase[k], n_used_phase }
    printf "n_row = %d\ncolumns = '%s'\nstrategies = '%s'\npanels = '%s '\n", count["rows"], substr(columns, 2), substr(strategies, 2), panels
    printf "variants = '%s'\ntypes = '%s'\n", substr(variants, 2), substr(types, 2)
    printf "caption = '%s · medians · the lowest four pieces are products and updates by the strategy · commit %s'\n", device, commit
}
