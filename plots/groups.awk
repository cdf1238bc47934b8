# What groups.gp draws of one backend, as a gnuplot script: products in groups of bars, throughput and its ratio to a
# reference. Nothing where there is nothing to compare.
#   awk -v backend=cuda -v what=meshes -f plots/groups.awk variants/variants.def kernels.csv
# meshes: a group is a mesh and size, in double precision, after the cube of nearest size, which is its reference. precisions: a group is a mesh, size and precision, where there are several; the reference is double.
# Rows of the order auto (older results: lexicographic), all elements plastic.
BEGIN { FS = ","; split("double mixed single", kinds, " ") }
FNR == 1 { file++ }
file == 1 && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); know($0) }
file == 1 { next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
function know(variant) { if (!(variant in place)) { place[variant] = ++n_variant; name[n_variant] = variant } }
get("backend") != backend || get("operation") !~ /^jacvec/ || get("plastic") + 0 != 1 { next }
("plastic_pattern" in column) && get("plastic_pattern") != "clustered" { next }
{ row[++n_row] = $0; if (get("order") == "auto") order = "auto"; know(get("variant")) }
# What the panel's title does not say; a coarse mesh that was refined is told by its size.
function short(mesh) { sub(/^box/, "", mesh); sub(/-distorted$/, "", mesh); sub(/_(tet4|hex8)/, "", mesh); sub(/_coarse-/, "-", mesh); return mesh }
function size_name(dof) { return dof >= 1e6 ? sprintf("%.1f M", 1e-6 * dof) : sprintf("%.0f k", 1e-3 * dof) }
# The cube whose size has the smallest ratio to that of a mesh.
function nearest(e, dof,    i, x, least, best) {
    for (i = 1; i <= n_mesh[e]; i++) {
        if (mesh[e, i] != "box") continue
        x = mesh_dof[e, i] > dof ? mesh_dof[e, i] / dof : dof / mesh_dof[e, i]
        if (!best || x < least) { least = x; best = i }
    }
    return best
}
# A group of an element, and the one that it is compared with (0: none); each once.
function group(e, m, kind, reference,    i) {
    for (i = 1; i <= n_group[e]; i++) if (group_mesh[e, i] == m && group_kind[e, i] == kind) return
    n_group[e]++
    group_mesh[e, n_group[e]] = m; group_kind[e, n_group[e]] = kind; compared[e, n_group[e]] = reference
}
function at(e, m, kind, op, v) { return e SUBSEP mesh[e, m] SUBSEP mesh_dof[e, m] SUBSEP kind SUBSEP op SUBSEP v }
function find_groups(e,    m, k, n) {
    for (m = 1; m <= n_mesh[e]; m++) {
        if (what == "meshes") {
            if (mesh[e, m] == "box" || !((e, m, "double") in has)) continue
            n = nearest(e, mesh_dof[e, m])
            if (n) group(e, n, "double", n)
            group(e, m, "double", n)
        } else if ((e, m, "mixed") in has || (e, m, "single") in has)
            for (k = 1; k <= 3; k++) if ((e, m, kinds[k]) in has) group(e, m, kinds[k], (e, m, "double") in has ? m : 0)
    }
}
function ratios(a, b) { return a == b ? "1 1 1" : (b in middle) ? middle[a] / middle[b] " " low[a] / high[b] " " high[a] / low[b] : "NaN NaN NaN" }
END {
    if (order == "") order = "lexicographic"
    unit = backend == "host" ? 1e-6 : 1e-9
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        if (get("order") != order || ("hardening" in column) && get("hardening") != "linear") continue
        e = get("element"); d = get("n_dof") + 0; b = get("case") ~ /^box[0-9]+-distorted$/ ? "box" : get("case")
        kind = ("precision" in column) ? get("precision") : "double"
        if (!((e, b, d) in number)) { number[e, b, d] = ++n_mesh[e]; mesh[e, n_mesh[e]] = b; mesh_dof[e, n_mesh[e]] = d }
        has[e, number[e, b, d], kind] = 1
        device = get("device") (backend == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") : ""); commit = get("commit")
        k = at(e, number[e, b, d], kind, get("operation"), get("variant"))
        if (get("status") != "ok") { lost[k] = 1; continue }
        middle[k] = unit * d / get("median_s"); low[k] = unit * d / get("ci95_high_s"); high[k] = unit * d / get("ci95_low_s")
    }
    n = split("tet4 tet4_p4 hex8 hex8_naive", element, " ")
    for (k = 1; k <= n; k++) { find_groups(element[k]); if (n_group[element[k]] > 1) elements = elements (elements == "" ? "" : " ") element[k] }
    if (elements == "") exit
    n = split(elements, element, " ")
    print "# columns: element operation variant group, then throughput and its ratio, each: median low high"
    print "$bars << EOD"
    for (k = 1; k <= n; k++) for (g = 1; g <= n_group[element[k]]; g++) for (o = 1; o <= 2; o++) for (v = 1; v <= n_variant; v++) {
        e = element[k]; op = o == 1 ? "jacvec_elastic" : "jacvec"
        i = at(e, group_mesh[e, g], group_kind[e, g], op, name[v])
        if (i in middle) {
            shown[v] = 1
            print e, op, name[v], g, middle[i], low[i], high[i], compared[e, g] ? ratios(i, at(e, compared[e, g], "double", op, name[v])) : "NaN NaN NaN"
        } else if (i in lost) { shown[v] = 1; crosses = crosses e " " op " " name[v] " " g "\n" }
    }
    print "EOD\n$lost << EOD\n" crosses "EOD"
    for (k = 1; k <= n; k++) {
        e = element[k]
        printf "n_group_%s = %d\n", e, n_group[e]
        if (n_group[e] > most) most = n_group[e]
        for (g = 1; g <= n_group[e]; g++) {
            m = group_mesh[e, g]
            printf "group_%s_%d = \"%s\\n%s%s\"\n", e, g, mesh[e, m] == "box" ? "box" : short(mesh[e, m]), size_name(mesh_dof[e, m]), what == "meshes" ? "" : ", " group_kind[e, g]
        }
    }
    for (v = 1; v <= n_variant; v++)
        if (v in shown) {
            variants = variants " " name[v]; types = types " " v
            printf "place_%s = %d\n", name[v], ++n_shown
        }
    printf "variants = '%s'\ntypes = '%s'\nelements = '%s'\nmost_groups = %d\n", substr(variants, 2), substr(types, 2), elements, most
    printf "unit = '%s'\nreference = '%s'\n", backend == "host" ? "MDoF/s" : "GDoF/s", what == "meshes" ? "the box of nearest size" : "double precision"
    printf "caption = '%s · order %s, all elements plastic · commit %s'\n", device, order, commit
}
