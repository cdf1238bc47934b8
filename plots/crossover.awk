# What throughput.gp draws of host and GPU together, as a gnuplot script: jacvec over size, of the fastest strategy at each
# size and of patch. Nothing where one of the two has no rows. Cubes of all sizes are one mesh; each other mesh that both
# have, in any size, has a panel of its own (tet4@irregular).
#   awk -f plots/crossover.awk machine.csv kernels.csv
# Rows have all elements plastic, order auto (older results: lexicographic), double precision.
BEGIN { FS = ","; n_line = split("fastest_on_GPU fastest_on_host patch_on_GPU patch_on_host", lines, " ") }
FNR == 1 { file++ }
file == 1 { machine[$1] = $2; next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
get("plastic") + 0 != 1 || get("status") != "ok" { next }
("plastic_pattern" in column) && get("plastic_pattern") != "clustered" { next }
("precision" in column) && get("precision") != "double" { next }
("hardening" in column) && get("hardening") != "linear" { next }
get("variant") == "element_only" || get("operation") !~ /^jacvec/ || get("element") !~ /^(tet4|hex8)$/ { next }
{ row[++n_row] = $0; if (get("order") == "auto") order = "auto" }
function panel(    mesh) {
    mesh = get("case")
    sub(/-distorted$/, "", mesh); sub(/-refined[0-9]+$/, "", mesh)
    return get("element") (mesh ~ /^box[0-9]+$/ ? "" : "@" mesh)
}
function take(line, at,    rate) { # throughput in MDoF/s, the larger one of a line and place
    rate = 1e-6 * get("n_dof")
    if (rate / get("median_s") <= middle[line, at] + 0) return
    middle[line, at] = rate / get("median_s"); low[line, at] = rate / get("ci95_high_s"); high[line, at] = rate / get("ci95_low_s")
}
function round_down(x,    p) { p = 1e-6; while (p * 10 <= x) p *= 10; return x >= 5 * p ? 5 * p : x >= 2 * p ? 2 * p : p }
function round_up(x,    p) { p = round_down(x); return p == x ? p : substr(sprintf("%e", p), 1, 1) == "2" ? 2.5 * p : 2 * p }
END {
    if (order == "") order = "lexicographic"
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        if (get("order") != order) continue
        b = get("backend") == "host" ? "host" : "GPU"; e = panel(); dof = get("n_dof") + 0
        device[b] = get("device") (b == "host" ? ", " get("threads") " threads" : ""); commit = get("commit")
        at = e SUBSEP get("operation") SUBSEP dof
        if (!(at in seen)) { seen[at] = 1; place[++n] = at }
        if (!(e in known)) { known[e] = 1; panels[++n_panel] = e }
        has[b, e] = 1
        take("fastest_on_" b, at)
        if (get("variant") == "patch") take("patch_on_" b, at)
    }
    for (b = 0; b < 2; b++) for (o = 1; o <= 2; o++) for (k = 1; k <= n_panel; k++) { # cubes first, Tet4 first
        e = panels[k]
        if ((e ~ /@/) == b && (e ~ (o == 1 ? "^tet4" : "^hex8")) && has["host", e] && has["GPU", e]) swept = swept (swept == "" ? "" : " ") e
    }
    if (swept == "") exit
    for (i = 1; i <= n; i++) {
        split(place[i], part, SUBSEP)
        if (!index(" " swept " ", " " part[1] " ")) continue
        if (part[3] + 0 > last) last = part[3] + 0
        if (!first || part[3] + 0 < first) first = part[3] + 0
    }
    print "$sizes << EOD"
    for (l = 1; l <= n_line; l++) for (i = 1; i <= n; i++) {
        split(place[i], part, SUBSEP)
        if (!((lines[l], place[i]) in middle) || !index(" " swept " ", " " part[1] " ")) continue
        print part[1], part[2], lines[l], part[3], middle[lines[l], place[i]], low[lines[l], place[i]], high[lines[l], place[i]]
        if (!least || low[lines[l], place[i]] < least) least = low[lines[l], place[i]]
        if (high[lines[l], place[i]] > most) most = high[lines[l], place[i]]
    }
    print "EOD\n$ceilings << EOD"
    for (k = 1; k <= split(swept, element, " "); k++) # a product takes 10 µs: DoF / µs = MDoF/s
        for (o = 1; o <= 2; o++) {
            print element[k], o == 1 ? "jacvec" : "jacvec_elastic", first, first / 10
            print element[k], o == 1 ? "jacvec" : "jacvec_elastic", 10 * most < last ? 10 * most : last, (10 * most < last ? 10 * most : last) / 10
            print ""
        }
    print "EOD\nceiling_name = '10 µs a product'"
    if (first / 10 < least) least = first / 10
    print "variants = 'fastest_on_GPU fastest_on_host patch_on_GPU patch_on_host'\ntypes = '1 2 3 4'"
    for (l = 1; l <= n_line; l++) printf "place_%s = %d\n", lines[l], l
    printf "swept = '%s'\nunit = 'MDoF/s'\nfirst = %g\nlast = %g\nleast = %g\nmost = %g\n", swept, first, last, round_down(least), round_up(most)
    printf "caption = '%s; %s · order %s, all elements plastic · commit %s'\n", device["GPU"], device["host"], order, commit
}
