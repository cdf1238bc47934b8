# What scaling.gp draws of one backend, as a gnuplot script; nothing where no panel has two numbers of ranks.
#   awk -v backend=host -f results/scaling_case.awk -f plots/scaling.awk variants/variants.def scaling.csv
# A panel is an element and a column: strong scaling of one mesh, or weak scaling of one mesh for each rank. A point is
# the time of an iteration of GMRES on one rank over that on several, with the interval that follows from those of both; for the
# first of these orthogonalizations that was measured.
BEGIN { FS = ","; n_way = split("gmres_dcgs2_graph gmres_dcgs2 gmres_cgs2", way, " ") }
FNR == 1 { file++ }
file == 1 && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); know($0) }
file == 1 { next }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
function get(name) { return $(column[name]) }
function know(variant) { if (!(variant in place)) { place[variant] = ++n_variant; name[n_variant] = variant } }
get("backend") == backend && get("status") == "ok" {
    op = get("operation")
    for (w = n_way; w && way[w] != op; w--) continue
    if (!w) next
    measured[op] = 1
    split(get("case"), part, "-")
    mesh = mesh_of(get("case")); e = get("element")
    ranks = get("ranks") + 0
    if (mesh ~ /^box[0-9x]+$/) {
        split(substr(mesh, 4), cells, "x")
        at = part[1] SUBSEP cells[1] * cells[2] * cells[3] / (part[1] == "weak" ? ranks : 1)
        shape[at] = ""
    } else { # elements have sizes of their own; the first of each share a column
        sub("_" e, "", mesh)
        if (!((e, mesh, get("n_dof")) in nth)) nth[e, mesh, get("n_dof")] = ++n_nth[e, mesh]
        at = part[1] SUBSEP mesh SUBSEP nth[e, mesh, get("n_dof")]
        shape[at] = mesh ", "
    }
    one_way(at SUBSEP e, get("case"), ranks)
    if (!((at, e) in dof) || ranks < least_ranks[at, e]) { dof[at, e] = get("n_dof") / (part[1] == "weak" ? ranks : 1); least_ranks[at, e] = ranks }
    if (!(at in size) || dof[at, e] < size[at]) size[at] = dof[at, e]
    if (ranks == 1) { one[op, at, get("element"), get("variant")] = get("median_s") " " get("ci95_low_s") " " get("ci95_high_s") }
    know(get("variant"))
    row[++n_row] = $0; panel[n_row] = at
}
# Ascending sizes of a kind after those that are there.
function columns_of(kind,    at, part, i, k, first) {
    first = n_column + 1
    for (at in shape) {
        split(at, part, SUBSEP)
        if (part[1] != kind || !(at in drawn)) continue
        for (k = ++n_column; k > first && size[list[k - 1]] > size[at]; k--) list[k] = list[k - 1]
        list[k] = at
    }
    for (i = first; i <= n_column; i++) index_of[list[i]] = i
}
END {
    if (failed) exit 1
    for (w = 1; w < n_way && !(way[w] in measured); w++) continue
    wanted = way[w]
    for (i = 1; i <= n_row; i++) { # rows that can be compared with one rank
        $0 = row[i]; at = panel[i]
        if (get("operation") != wanted || !((wanted, at, get("element"), get("variant")) in one)) continue
        ranks = get("ranks") + 0
        split(one[wanted, at, get("element"), get("variant")], t, " ")
        low = t[2] / get("ci95_high_s"); high = t[3] / get("ci95_low_s"); middle = t[1] / get("median_s")
        if (ranks == 1) low = high = middle = 1
        if (ranks > 1) { drawn[at] = 1; has[get("element")] = 1 }
        if (ranks > most_ranks) most_ranks = ranks
        split(at, part, SUBSEP)
        if (part[1] == "strong" && (!least || low < least)) least = low
        if (part[1] == "strong" && high > most) most = high
        if (part[1] == "weak" && high > most_efficiency) most_efficiency = high
        value[i] = part[1] == "strong" ? middle " " low " " high : 100 * middle " " 100 * low " " 100 * high
        shown[get("variant")] = 1; seen[ranks] = 1
        by = get("backend") == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") " a rank" : ""
        device = get("device")
        if (!(get("commit") in known)) { known[get("commit")] = 1; commits = commits (commits == "" ? "" : ", ") get("commit") }
    }
    columns_of("strong"); columns_of("weak")
    if (!n_column) exit
    print "# columns: element column variant ranks, then speed-up or efficiency (%): median low high"
    print "$scaled << EOD"
    for (i = 1; i <= n_row; i++) {
        $0 = row[i]
        if (!(i in value && panel[i] in drawn && get("element") in has)) continue
        print get("element"), index_of[panel[i]], get("variant"), get("ranks"), value[i]
        filled[get("element") "." index_of[panel[i]]] = 1
    }
    print "EOD"
    for (i in filled) panels = panels " " i
    printf "filled = '%s '\n", panels
    for (i = 1; i <= n_column; i++) {
        split(list[i], part, SUBSEP)
        kinds = kinds " " part[1]
        printf "mesh_%d = '%s'\n", i, shape[list[i]]
        for (e in has) if ((list[i], e) in dof) printf "size_%d_%s = %.0f\n", i, e, dof[list[i], e]
    }
    for (i = 1; i <= n_variant; i++)
        if (name[i] in shown) {
            variants = variants " " name[i]; types = types " " i
            printf "place_%s = %d\n", name[i], ++n_shown
        }
    n = split("tet4 tet4_p4 hex8 hex8_naive", element, " ")
    for (i = 1; i <= n; i++) if (element[i] in has) elements = elements " " element[i]
    for (i = 1; i <= most_ranks; i++) if (i in seen) counts = counts " " i
    printf "backend = '%s'\n", backend
    printf "variants = '%s'\ntypes = '%s'\nelements = '%s'\nkinds = '%s'\ncounts = '%s'\n", substr(variants, 2), substr(types, 2), \
        substr(elements, 2), substr(kinds, 2), substr(counts, 2)
    printf "most_ranks = %d\nleast = %g\nmost = %g\nmost_efficiency = %g\n", most_ranks, least, most, 100 * most_efficiency
    printf "caption = '%s%s · time of an iteration of GMRES (%s), medians and 95 %% intervals · commit %s'\n", device, by, wanted, commits
}
