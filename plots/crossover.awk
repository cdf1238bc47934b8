# What throughput.gp draws of host and GPU together, as a gnuplot script: jacvec over size, of the fastest strategy at each
# size and of patch. Nothing where one of the two has no rows.
#   awk -f plots/crossover.awk machine.csv kernels.csv
# Rows are taken as figures.awk takes them: cubes, all elements plastic, order auto (older results: lexicographic).
BEGIN { FS = ","; n_line = split("fastest_on_GPU fastest_on_host patch_on_GPU patch_on_host", lines, " ") }
FNR == 1 { file++ }
file == 1 { machine[$1] = $2; next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
get("case") !~ /^box[0-9]+-distorted$/ || get("plastic") + 0 != 1 || get("status") != "ok" { next }
("plastic_pattern" in column) && get("plastic_pattern") != "clustered" { next }
("precision" in column) && get("precision") != "double" { next }
get("variant") == "element_only" || get("operation") !~ /^jacvec/ || get("element") !~ /^(tet4|hex8)$/ { next }
{ row[++n_row] = $0; if (get("order") == "auto") order = "auto" }
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
        b = get("backend") == "host" ? "host" : "GPU"; e = get("element"); dof = get("n_dof") + 0
        device[b] = get("device") (b == "host" ? ", " get("threads") " threads" : ""); commit = get("commit")
        at = e SUBSEP get("operation") SUBSEP dof
        if (!(at in seen)) { seen[at] = 1; place[++n] = at }
        has[b, e] = 1
        take("fastest_on_" b, at)
        if (get("variant") == "patch") take("patch_on_" b, at)
        if (dof > last) last = dof
        if (!first || dof < first) first = dof
    }
    for (k = 1; k <= 2; k++) { e = k == 1 ? "tet4" : "hex8"; if (has["host", e] && has["GPU", e]) swept = swept (swept == "" ? "" : " ") e }
    if (swept == "") exit
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
