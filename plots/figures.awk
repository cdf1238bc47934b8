# What the .gp files of this folder draw of one backend, as a gnuplot script: lists, ranges and data blocks.
#   awk -v backend=host -f plots/figures.awk variants/variants.def machine.csv kernels.csv
# Rows of cubes (groups.awk has the other meshes and precisions) of one order, share and pattern of plastic elements are taken: auto (older results: lexicographic), 1
# and clustered if there are any. $plastic has all shares and patterns of that order, at the size of an element that
# has most.
BEGIN { FS = ","; n_op = split("residual material jacvec_elastic jacvec diagonal", ops, " ") }
FNR == 1 { file++ }
file == 1 && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); know($0) }
file == 1 { next }
file == 2 { machine[$1] = $2; next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
function know(variant) { if (!(variant in place)) { place[variant] = ++n_variant; name[n_variant] = variant } }
get("case") !~ /^box[0-9]+-distorted$/ { next }
("precision" in column) && get("precision") != "double" { next }
("hardening" in column) && get("hardening") != "linear" { next }
get("backend") == backend {
    know(get("variant"))
    row[++n_row] = $0
    if (get("status") == "ok" && (wanted == "" || setting() == "auto,1,clustered" || setting() == "lexicographic,1,clustered" && wanted != "auto,1,clustered")) wanted = setting()
}
function pattern() { return "plastic_pattern" in column ? get("plastic_pattern") : "clustered" } # schema 1 knew one
function setting() { return get("order") "," get("plastic") + 0 "," pattern() }
function usual_order(    part) { split(wanted, part, ","); return part[1] }
function rate(x) { return unit * get("n_dof") / x }
function ceiling(    memory, arithmetic) {
    memory = get("bytes_moved") / (1e9 * machine[backend "_copy_gb_per_s"])
    arithmetic = get("flop") / (1e9 * machine[backend "_fma_gflop_per_s"])
    return rate(memory > arithmetic ? memory : arithmetic)
}
function widen(value) {
    if (value < least || !least) least = value
    if (value > most) most = value
}
# The nearest of 1, 2, 5 × 10^k that is not above (below) x.
function round_down(x,    p) { p = 1e-6; while (p * 10 <= x) p *= 10; return x >= 5 * p ? 5 * p : x >= 2 * p ? 2 * p : p }
function round_up(x,    p) { p = round_down(x); return p == x ? p : substr(sprintf("%e", p), 1, 1) == "2" ? 2.5 * p : 2 * p }
# jacvec over shares of plastic elements: element, pattern, variant, measured share, then throughput: median low high; and the
# ceiling: element, share, throughput. Its ranges.
function over_shares(n,    i, k, e, list, lines, ceilings, least, most, at, drawn) {
    for (k = 1; k <= n; k++) if (most_shares[element[k]] > 1) list = list (list == "" ? "" : " ") element[k]
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        e = get("element")
        if (get("status") != "ok" || get("operation") != "jacvec" || get("order") != usual_order()) continue
        if (most_shares[e] < 2 || get("n_dof") + 0 != size[e]) continue
        lines = lines e " " pattern() " " get("variant") " " get("plastic_measured") " " rate(get("median_s")) " " \
            rate(get("ci95_high_s")) " " rate(get("ci95_low_s")) "\n"
        if (!least || rate(get("ci95_high_s")) < least) least = rate(get("ci95_high_s"))
        if (rate(get("ci95_low_s")) > most) most = rate(get("ci95_low_s"))
        at = e " " get("plastic")
        if (at in drawn || !(get("bytes_moved") > 0 && machine[backend "_copy_gb_per_s"] > 0 && machine[backend "_fma_gflop_per_s"] > 0)) continue
        drawn[at] = 1
        ceilings = ceilings get("plastic_measured") " " e " " ceiling() "\n"
        if (ceiling() > most) most = ceiling()
    }
    print "$plastic << EOD\n" lines "EOD\n$plastic_ceilings << EOD\n" ceilings "EOD"
    printf "shared = '%s'\nleast_plastic = %g\nmost_plastic = %g\n", list, list == "" ? 0 : round_down(least), list == "" ? 0 : round_up(most)
    for (k = 1; k <= n; k++) if (most_shares[element[k]] > 1) printf "size_%s = %d\n", element[k], size[element[k]]
}
END {
    unit = backend == "host" ? 1e-6 : 1e-9
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        e = get("element"); op = get("operation"); v = get("variant"); dof = get("n_dof") + 0
        if (get("status") == "ok" && op == "jacvec" && get("order") == usual_order() && !((e, dof, get("plastic") + 0) in has_share)) {
            has_share[e, dof, get("plastic") + 0] = 1
            if (++n_share[e, dof] > most_shares[e] + 0) { most_shares[e] = n_share[e, dof]; size[e] = dof }
        }
        if (setting() != wanted || get("status") != "ok") continue
        device = get("device") (backend == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") : ""); commit = get("commit")
        if (dof > largest[e] + 0) largest[e] = dof
        if (op !~ /^jacvec/) continue
        if (!((e, dof) in seen)) { seen[e, dof] = 1; n_size[e]++; if (n_size[e] > most_sizes) most_sizes = n_size[e] }
    }
    n = split("tet4 tet4_p4 hex8 hex8_naive", element, " ")
    for (k = 1; k <= n; k++) if (element[k] in largest) elements = elements (elements == "" ? "" : " ") element[k]
    if (elements == "") exit
    # element kinds of a single size are left to the bars
    n = split(elements, element, " ")
    for (k = 1; k <= n; k++)
        if (n_size[element[k]] > 1 || n_size[element[k]] == most_sizes) swept = swept (swept == "" ? "" : " ") element[k]
    over_shares(n = split("tet4 tet4_p4 hex8 hex8_naive", element, " "))
    print "# columns: element operation variant DoF, then throughput and share of the ceiling (%), each: median low high"
    print "$sizes << EOD"
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        e = get("element"); op = get("operation"); v = get("variant"); dof = get("n_dof") + 0
        if (setting() != wanted) continue
        if (dof == largest[e]) {
            shown[v] = 1
            if (get("status") != "ok") lost = lost e " " op " " v "\n"
        }
        if (get("status") != "ok") continue
        shown[v] = 1
        middle = rate(get("median_s")); low = rate(get("ci95_high_s")); high = rate(get("ci95_low_s"))
        share = 100 * get("ceiling_share")
        line = e " " op " " v " " dof " " middle " " low " " high " " share " " share * low / middle " " share * high / middle
        if (dof == largest[e]) bars = bars line "\n"
        if (op !~ /^jacvec/ || !index(" " swept " ", " " e " ")) continue
        print line
        widen(low); widen(high)
        if (!first || dof < first) first = dof
        if (dof > last) last = dof
        if (get("bytes_moved") > 0 && machine[backend "_copy_gb_per_s"] > 0 && machine[backend "_fma_gflop_per_s"] > 0 && !((e, op, dof) in drawn)) {
            drawn[e, op, dof] = 1
            widen(ceiling())
            # a single size: a short level line
            for (f = n_size[e] > 1 ? 1 : 0.8; f < 1.3; f /= 0.64)
                ceilings = ceilings e " " op " " f * dof " " ceiling() "\n"
        }
    }
    print "EOD\n$ceilings << EOD\n" ceilings "EOD\n$bars << EOD\n" bars "EOD\n$lost << EOD\n" lost "EOD"
    for (i = 1; i <= n_variant; i++)
        if (name[i] in shown) {
            variants = variants " " name[i]; types = types " " i
            printf "place_%s = %d\n", name[i], ++n_shown
        }
    for (i = 1; i <= n_op; i++) printf "place_%s = %d\n", ops[i], i
    printf "variants = '%s'\ntypes = '%s'\nelements = '%s'\nswept = '%s'\n", substr(variants, 2), substr(types, 2), elements, swept
    print "operations = 'residual material jacvec_elastic jacvec diagonal'"
    for (e in largest) printf "largest_%s = %d\n", e, largest[e]
    split(wanted, part, ",")
    printf "caption_plastic = '%s · %s order · solid: one slab is plastic, dashed: elements at random places are, dotted: zones · commit %s'\n", device, usual_order(), commit
    printf "caption = '%s · %s order, %g %% plastic · commit %s'\n", device, part[1], 100 * part[2], commit
    printf "unit = '%s'\n", backend == "host" ? "MDoF/s" : "GDoF/s"
    printf "first = %g\nlast = %g\nleast = %g\nmost = %g\n", first, last, round_down(least), round_up(most)
}
