# What throughput.gp draws of set-ups, as a gnuplot script: products after which a strategy's set-up is repaid against
# `reference` (results/break_even.awk), over size. Nothing where that never happens.
#   awk -v backend=host -v reference=element_atomic -f results/break_even.awk -f plots/break_even.awk \
#       variants/variants.def kernels.csv
# Rows are taken as figures.awk takes them: cubes, all elements plastic, order auto (older results: lexicographic). 0 and 1
# are both drawn at 1. Ends of the intervals combine the ends of both products.
BEGIN { FS = ","; n_op = split("jacvec_elastic jacvec", ops, " ") }
FNR == 1 { file++ }
file == 1 && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); name[++n_variant] = $0 }
file == 1 { next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
get("case") !~ /^box[0-9]+-distorted$/ || get("plastic") + 0 != 1 || get("status") != "ok" || get("backend") != backend { next }
("plastic_pattern" in column) && get("plastic_pattern") != "clustered" { next }
("precision" in column) && get("precision") != "double" { next }
("hardening" in column) && get("hardening") != "linear" { next }
get("element") !~ /^(tet4|hex8)$/ || get("setup_s") == "" { next }
get("order") !~ /^(auto|lexicographic)$/ { next }
{
    o = get("order"); if (o == "auto") order = "auto"
    at = o SUBSEP get("element") SUBSEP get("n_dof") + 0 SUBSEP get("variant")
    middle[at, get("operation")] = get("median_s"); low[at, get("operation")] = get("ci95_low_s"); high[at, get("operation")] = get("ci95_high_s")
    setup[at] = get("setup_s")
    place = o SUBSEP get("element") SUBSEP get("n_dof") + 0
    if (!(place in seen)) { seen[place] = 1; places[++n_place] = place }
    device = get("device") (backend == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") : ""); commit = get("commit")
}
function least_one(n) { return n < 1 ? 1 : n }
function round_down(x,    p) { p = 1e-6; while (p * 10 <= x) p *= 10; return x >= 5 * p ? 5 * p : x >= 2 * p ? 2 * p : p }
function round_up(x,    p) { p = round_down(x); return p == x ? p : substr(sprintf("%e", p), 1, 1) == "2" ? 2.5 * p : 2 * p }
# A line of the figure, or nothing. An interval without an upper end gets ten times the middle.
function line_of(place, variant, op,    at, base, more, n, early, late, part) {
    at = place SUBSEP variant; base = place SUBSEP reference
    if (variant == reference || !((at, op) in middle) || !((base, op) in middle)) return ""
    if (variant " " reference ~ /assembled_/ && (!((at, "material") in middle) || !((base, "material") in middle))) return ""
    more = more_setup(variant, setup[at], middle[at, "material"], reference, setup[base], middle[base, "material"])
    n = break_even(more, middle[base, op] - middle[at, op])
    if (n == "") return ""
    early = least_one(break_even(more, high[base, op] - low[at, op]))
    late = break_even(more, low[base, op] - high[at, op])
    n = least_one(n); late = late == "" ? 10 * n : least_one(late)
    split(place, part, SUBSEP)
    if (!(least > 0) || early < least) least = early
    if (late > most) most = late
    if (!first || part[3] < first) first = part[3]
    if (part[3] > last) last = part[3]
    shown[variant] = 1; has[part[2]] = 1
    return part[2] " " op " " variant " " part[3] " " n " " early " " late "\n"
}
END {
    if (order == "") order = "lexicographic"
    for (v = 1; v <= n_variant; v++) for (i = 1; i <= n_place; i++) for (o = 1; o <= n_op; o++)
        if (index(places[i], order SUBSEP) == 1) lines = lines line_of(places[i], name[v], ops[o])
    if (lines == "") exit
    print "# columns: element operation variant DoF, then products: middle and ends"
    print "$sizes << EOD\n" lines "EOD\n$ceilings << EOD"
    most = most < 200 ? 200 : most; least = least > 200 ? 200 : least # the line below
    for (k = 1; k <= 2; k++) {
        e = k == 1 ? "tet4" : "hex8"
        if (!has[e]) continue
        swept = swept (swept == "" ? "" : " ") e
        for (o = 1; o <= n_op; o++) print e, ops[o], 0.8 * first, "200\n" e, ops[o], 1.25 * last, "200\n"
    }
    print "EOD\nceiling_name = '200 products'"
    for (v = 1; v <= n_variant; v++)
        if (name[v] in shown) { variants = variants " " name[v]; types = types " " v; printf "place_%s = %d\n", name[v], ++n_shown }
    printf "variants = '%s'\ntypes = '%s'\nswept = '%s'\nunit = 'products'\n", substr(variants, 2), substr(types, 2), swept
    printf "first = %g\nlast = %g\nleast = %g\nmost = %g\n", first, last, round_down(least), round_up(most)
    printf "caption = 'products after which a set-up is repaid against %s%s · %s · order %s · commit %s'\n", reference, \
        reference ~ /^assembled_/ ? " with one assembly" : "", device, order, commit
}
