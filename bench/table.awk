# Markdown tables of a kernels.csv.
#
# For each backend and element: the largest size that has times, with one line per variant, one column per
# operation, and the limit that the machine's ceilings set. If the sweep holds several orders or shares of plastic
# elements, jacvec over these; of meshes that are no cubes, each size, compared with the box of nearest size; and each
# operation over precisions and laws of hardening. A cell is the median throughput and its 95 % interval. Bold is
# the fastest of its column if its interval overlaps no other; where no cell is bold, the samples cannot tell.
# The price of determinism is the throughput of the best bitwise reproducible variant over that of the best of
# all. A table of its own holds set-ups and when they are repaid (results/break_even.awk, which is loaded first).
# Energies of one call, where any row has them, are a table of their own for each size. A variant whose sums changed in
# any row of the backend does not count as reproducible anywhere. Rows of mixed and single precision and of Voce's law
# have tables of their own.
BEGIN { FS = ","; n_op = split("residual material jacvec_elastic jacvec diagonal", ops, " ") }
FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
function kind_of(op) { return op == "material" ? "points" : "sums" }
function pattern() { return "plastic_pattern" in column ? get("plastic_pattern") : "clustered" } # schema 1 knew one
# Cubes of all sizes are one mesh.
function precision() { return "precision" in column ? get("precision") : "double" } # up to schema 3
function shape() { return get("case") ~ /^box[0-9]+-distorted$/ ? "box" : get("case") }
function hardening() { return "hardening" in column ? get("hardening") : "linear" } # up to schema 4
function plain() { return precision() == "double" && hardening() == "linear" }
function mesh() { return shape() (precision() == "double" ? "" : ", " precision()) (hardening() == "linear" ? "" : ", " hardening()) }
function note(list, value,    i) { # appends a value to a list unless it is there
    for (i = 1; i <= count[list]; i++) if (item[list, i] == value) return
    item[list, ++count[list]] = value
}
{
    backend = get("backend"); element = get("element"); dof = get("n_dof"); variant = get("variant")
    setting = get("order") SUBSEP get("plastic") + 0 SUBSEP pattern() SUBSEP mesh()
    group = backend SUBSEP element SUBSEP setting SUBSEP dof
    at = group SUBSEP get("operation") SUBSEP variant
    note("groups", backend SUBSEP element)
    note("variants", variant)
    note("all meshes", shape()); note("orders", get("order")); note("plastics", get("plastic") + 0); note("settings", setting)
    if (get("plastic") + 0 == 1 && pattern() == "clustered" && plain()) note("meshes", mesh())
    if (get("order") == "auto" && get("numbering") != "") numbering[group, variant] = get("numbering")
    has[group, variant] = 1
    machine = get("machine"); commit = get("commit")
    status[at] = get("status")
    unit = backend == "host" ? 1e-6 : 1e-9
    if (status[at] == "ok") {
        timed[group] = 1
        median[at] = unit * dof / get("median_s"); seconds[at] = get("median_s")
        low[at] = unit * dof / get("ci95_high_s"); high[at] = unit * dof / get("ci95_low_s")
        if (get("ceiling_share") > 0) ceiling[group, get("operation")] = median[at] / get("ceiling_share")
        if (get("ceiling_share") > 1.02) above[at] = 1 # FE_ROW_ABOVE
        about[group] = get("device") (backend == "host" ? ", " get("threads") (get("threads") > 1 ? " threads" : " thread") : "") \
            ", " get("repetitions") " repetitions"
        sizes[backend, element, setting] = sizes[backend, element, setting] " " dof
    }
    if (get("bytes") != "") { bytes[group, variant] = get("bytes") / dof; own[group, variant] = get("bytes_work") / dof }
    if (get("setup_s") != "") { setup[group, variant] = sprintf("%.2f", 1e3 * get("setup_s")); setup_s[group, variant] = get("setup_s") }
    if ("nj_per_dof" in column && get("nj_per_dof") != "") { # since schema 5
        energy[at] = get("nj_per_dof")
        note("energies", group)
    }
    if (get("error") != "" && get("error") + 0 >= error[group, variant] + 0) error[group, variant] = get("error")
    repeats[at] = get("deterministic")
    if (repeats[at] == "0" && plain()) changes[backend, variant, kind_of(get("operation"))] = 1
}
function number(x) { return sprintf(x >= 1000 ? "%.0f" : x >= 100 ? "%.1f" : x >= 10 ? "%.2f" : "%.3f", x) }
function cell(group, op, variant,    at, v, other, rivals, text) {
    at = group SUBSEP op SUBSEP variant
    if (status[at] != "ok") return status[at]
    text = number(median[at]) " (" number(low[at]) "–" number(high[at]) ")"
    if (at in above) { text = text " †"; marked = 1 }
    for (v = 1; v <= count["variants"]; v++) {
        if (item["variants", v] == variant || item["variants", v] == "element_only" || variant == "element_only") continue
        other = group SUBSEP op SUBSEP item["variants", v]
        if (status[other] != "ok") continue
        rivals++
        if (high[other] >= low[at]) return text
    }
    return rivals ? "**" text "**" : text
}
function largest(list,    part, n, i, most) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++) if (part[i] + 0 > most + 0) most = part[i]
    return most
}
function unit_name(backend) { return backend == "host" ? "MDoF/s" : "GDoF/s" }
function header(first, names, n, prefix, last,    i, head, rule) {
    head = "| " first " |"; rule = "|---|"
    for (i = 1; i <= n; i++) { head = head " " prefix names[i] " |"; rule = rule "---:|" }
    print head last
    print rule (last == "" ? "" : "---:|---:|---:|---:|---|")
}
# Whether a variant is bitwise reproducible, or the operations in which it is not.
function steadiness(group, variant,    o, at, known, changing, list) {
    for (o = 1; o <= n_op; o++) {
        at = group SUBSEP ops[o] SUBSEP variant
        if (repeats[at] != "") known++
        if (repeats[at] == "0") { list = list (changing ? ", " : "not ") ops[o]; changing++ }
    }
    return !known ? "" : !changing ? "yes" : changing == known ? "no" : list
}
# The fastest variant of an operation, or the fastest of the reproducible ones; "" where there is none.
function fastest(backend, group, op, steady,    v, at, best) {
    for (v = 1; v <= count["variants"]; v++) {
        at = group SUBSEP op SUBSEP item["variants", v]
        if (status[at] != "ok" || item["variants", v] == "element_only" || steady && (repeats[at] != 1 || changes[backend, item["variants", v], kind_of(op)])) continue
        if (best == "" || median[at] > median[group, op, best]) best = item["variants", v]
    }
    return best
}
function price(backend, group, op,    best, steady) {
    best = fastest(backend, group, op, 0); steady = fastest(backend, group, op, 1)
    if (steady == "") return ""
    if (steady == best) return "1"
    return sprintf("%.2f (%.2f–%.2f) `%s`", median[group, op, steady] / median[group, op, best],
        low[group, op, steady] / high[group, op, best], high[group, op, steady] / low[group, op, best], steady)
}
# An order in words; of auto, what it was.
function order_of(group, order,    v, name, n, list, text, i) {
    if (order != "auto") return order " order"
    for (v = 1; v <= count["variants"]; v++) {
        name = numbering[group, item["variants", v]]
        if (name == "") continue
        for (i = 1; i <= n; i++) if (list[i] == name) break
        if (i > n) { list[++n] = name; who[i] = "" }
        who[i] = who[i] (who[i] == "" ? "" : ", ") "`" item["variants", v] "`"
    }
    for (i = 1; i <= n; i++) text = text (i > 1 ? "; " : "") list[i] " for " who[i]
    return "order auto (" text ")"
}
# The title of a table, and what its group is.
function headline(group, title,    part) {
    split(group, part, SUBSEP)
    printf "\n## %s on %s, %s%d DoF: %s\n\n", part[2], part[1], part[6] == "box" ? "" : part[6] ", ", part[7], title
    wrap(sprintf("%s, %s, %g %% plastic%s.", about[group], order_of(group, part[3]), 100 * part[4], part[5] == "clustered" ? "" : ", " part[5]))
    print ""
}
# The energy of all operations.
function energies(group,    v, o, variant, at, text, rows) {
    headline(group, "energy, nJ/DoF")
    header("variant", ops, n_op, "", "")
    for (v = 1; v <= count["variants"]; v++) {
        variant = item["variants", v]; text = "| `" variant "` |"; rows = 0
        for (o = 1; o <= n_op; o++) {
            at = group SUBSEP ops[o] SUBSEP variant
            if (at in energy) rows = 1
            text = text " " (at in energy ? number(energy[at]) : "") " |"
        }
        if (rows) print text
    }
}
# All operations at the largest size.
function operations(backend, element, setting,    group, o, v, variant, text) {
    group = backend SUBSEP element SUBSEP setting SUBSEP largest(sizes[backend, element, setting])
    headline(group, unit_name(backend))
    header("variant", ops, n_op, "", " memory, B/DoF | own memory, B/DoF | set-up ms | largest error | bitwise reproducible |")
    for (v = 1; v <= count["variants"]; v++) {
        variant = item["variants", v]
        if (!has[group, variant]) continue
        text = "| `" variant "` |"
        for (o = 1; o <= n_op; o++) text = text " " cell(group, ops[o], variant) " |"
        printf "%s %.0f | %.0f | %s | %s | %s |\n", text, bytes[group, variant], own[group, variant],
            setup[group, variant], error[group, variant] == "" ? "" : sprintf("%.1e", error[group, variant]), steadiness(group, variant)
    }
    text = ""
    for (o = 1; o <= n_op; o++) text = text " " (ceiling[group, ops[o]] ? number(ceiling[group, ops[o]]) : "") " |"
    if (text ~ /[0-9]/) print "| *ceiling* |" text " | | | | |"
    text = ""
    for (o = 1; o <= n_op; o++) text = text " " price(backend, group, ops[o]) " |"
    if (text ~ /[0-9]/) print "| *best reproducible / best of all* |" text " | | | | |"
}
# After how many products of an operation a variant's set-up is repaid; empty: never, or not known.
function repaid(group, op, variant, other,    at, base) {
    at = group SUBSEP op SUBSEP variant; base = group SUBSEP op SUBSEP other
    if (variant == other || status[at] != "ok" || status[base] != "ok") return ""
    if (setup_s[group, variant] == "" || setup_s[group, other] == "") return ""
    if (variant " " other ~ /assembled_/ && (!((group, "material", variant) in seconds) || !((group, "material", other) in seconds))) return ""
    return break_even(more_setup(variant, setup_s[group, variant], seconds[group, "material", variant], \
        other, setup_s[group, other], seconds[group, "material", other]), seconds[base] - seconds[at])
}
# Set-ups, and when they are repaid, at the largest size.
function set_ups(backend, element, setting,    group, v, r, o, variant, text, rows, part) {
    group = backend SUBSEP element SUBSEP setting SUBSEP largest(sizes[backend, element, setting])
    split("element_atomic assembled_bsr", references, " "); split("jacvec_elastic jacvec", product, " ")
    for (v = 1; v <= count["variants"]; v++) {
        variant = item["variants", v]
        if (variant == "element_only" || setup[group, variant] == "") continue
        text = "| `" variant "` | " setup[group, variant] " |"
        for (o = 1; o <= 2; o++) {
            part = seconds[group, product[o], variant]
            text = text " " (part > 0 ? sprintf("%.0f", setup_s[group, variant] / part) : "") " |"
        }
        for (r = 1; r <= 2; r++) for (o = 1; o <= 2; o++) {
            part = repaid(group, product[o], variant, references[r])
            if (part != "") rows++
            text = text " " part " |"
        }
        lines[v] = text
    }
    if (rows) {
        printf "\n## %s on %s, %d DoF: set-up and break-even\n\n", element, backend, largest(sizes[backend, element, setting])
        print "Break-even: products after which the set-up is repaid by faster products; empty: never. With matrices, set-ups are"
        print "counted with one call of `material`, which assembles.\n"
        print "| variant | set-up ms | in products of `jacvec_elastic` | of `jacvec` | break-even with `element_atomic`, `jacvec_elastic` | `jacvec` | with `assembled_bsr`, `jacvec_elastic` | `jacvec` |"
        print "|---|---:|---:|---:|---:|---:|---:|---:|"
        for (v = 1; v <= count["variants"]; v++) if (v in lines) print lines[v]
    }
    for (v in lines) delete lines[v]
}
# jacvec over all orders (plastic 1) or over all plastic shares of a pattern (lexicographic), at the largest
# common size.
function over(list, backend, element, how, prefix, base,    n, i, v, k, key, dof, part, group, names, keys, variant, text, common, rows) {
    for (i = 1; i <= count[list]; i++) {
        key = (list == "orders" ? item[list, i] SUBSEP 1 : usual_order SUBSEP item[list, i]) SUBSEP how SUBSEP base
        if (sizes[backend, element, key] == "") continue
        names[++n] = item[list, i]; keys[n] = key
    }
    if (n < 2) return
    k = split(sizes[backend, element, keys[1]], part, " ")
    for (v = 1; v <= k; v++) {
        common = 1
        for (i = 2; i <= n; i++) if (!timed[backend, element, keys[i], part[v]]) common = 0
        if (common && part[v] + 0 > dof + 0) dof = part[v]
    }
    if (!dof) return
    printf "\n## %s on %s, %s%d DoF: jacvec over %s, %s\n\n", element, backend, base == "box" ? "" : base ", ", dof,
        list == "orders" ? "node orders" : "shares of plastic elements, " how, unit_name(backend)
    header("variant", names, n, prefix, "")
    for (v = 1; v <= count["variants"]; v++) {
        variant = item["variants", v]; text = "| `" variant "` |"; rows = 0
        for (i = 1; i <= n; i++) {
            group = backend SUBSEP element SUBSEP keys[i] SUBSEP dof
            if (has[group, variant]) rows = 1
            text = text " " cell(group, "jacvec", variant) " |"
        }
        if (rows) print text
    }
}
# An operation over all meshes, each at its largest size.
function over_meshes(backend, element, op,    n, i, v, key, names, groups, variant, text, rows) {
    for (i = 1; i <= count["meshes"]; i++) {
        key = usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP item["meshes", i]
        if (sizes[backend, element, key] == "") continue
        names[++n] = item["meshes", i] ", " largest(sizes[backend, element, key]) " DoF"
        groups[n] = backend SUBSEP element SUBSEP key SUBSEP largest(sizes[backend, element, key])
    }
    if (n < 2) return
    printf "\n## %s on %s: %s over meshes, %s\n\n", element, backend, op, unit_name(backend)
    header("variant", names, n, "", "")
    for (v = 1; v <= count["variants"]; v++) {
        variant = item["variants", v]; text = "| `" variant "` |"; rows = 0
        for (i = 1; i <= n; i++) {
            if (has[groups[i], variant]) rows = 1
            text = text " " cell(groups[i], op, variant) " |"
        }
        if (rows) print text
    }
}
# Sizes in a list, each once, ascending; their number.
function sorted(list, to,    part, n, i, k, m) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++) {
        for (k = 1; k <= m && to[k] + 0 < part[i] + 0; k++) continue
        if (k <= m && to[k] + 0 == part[i] + 0) continue
        for (m++; k < m; k++) { listed = to[k]; to[k] = part[i]; part[i] = listed }
        to[m] = part[i]
    }
    return m
}
# The throughput of a variant over that of another group; "" where one of the two has no times.
function gain(group, other, op, variant,    a, b) {
    a = group SUBSEP op SUBSEP variant; b = other SUBSEP op SUBSEP variant
    if (status[a] != "ok" || status[b] != "ok") return ""
    return sprintf("%.2f (%.2f–%.2f)", median[a] / median[b], low[a] / high[b], high[a] / low[b])
}
# The size of a list that has the smallest ratio to another one.
function nearest(list, dof,    part, n, i, ratio, least, best) {
    n = split(list, part, " ")
    for (i = 1; i <= n; i++) {
        ratio = part[i] > dof ? part[i] / dof : dof / part[i]
        if (best == "" || ratio < least) { least = ratio; best = part[i] }
    }
    return best
}
# All operations on a mesh that is no cube, and products compared with the box of nearest size.
function on_mesh(backend, element, base,    key, box, list, n, i, o, v, variant, group, other, text, head, rule) {
    key = usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP base; box = usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP "box"
    n = sorted(sizes[backend, element, key], list)
    for (i = 1; i <= n; i++) {
        group = backend SUBSEP element SUBSEP key SUBSEP list[i]
        other = nearest(sizes[backend, element, box], list[i])
        printf "\n## %s on %s, %s, %d DoF%s: %s\n\n", element, backend, base, list[i], other == "" ? "" : ", and the box of " other " DoF", \
            unit_name(backend)
        wrap(about[group] ", " order_of(group, usual_order) "."); print ""
        if (other != "") other = backend SUBSEP element SUBSEP box SUBSEP other
        head = "| variant |"; rule = "|---|"
        for (o = 1; o <= n_op; o++) { head = head " " ops[o] " |" (other != "" && ops[o] ~ /^jacvec/ ? " of the box |" : ""); rule = rule "---:|" (other != "" && ops[o] ~ /^jacvec/ ? "---:|" : "") }
        print head; print rule
        for (v = 1; v <= count["variants"]; v++) {
            variant = item["variants", v]; text = "| `" variant "` |"
            if (!has[group, variant]) continue
            for (o = 1; o <= n_op; o++)
                text = text " " cell(group, ops[o], variant) " |" (other != "" && ops[o] ~ /^jacvec/ ? " " gain(group, other, ops[o], variant) " |" : "")
            print text
        }
    }
}
# An operation in each precision on a mesh, at each size that has floats.
function over_precisions(backend, element, base, op,    n, m, i, k, kind, list, n_list, all, group, names, present, v, variant, text, rows) {
    split("double mixed single", kind, " ")
    for (i = 1; i <= 3; i++) all = all " " sizes[backend, element, usual_order, 1, "clustered", base (i == 1 ? "" : ", " kind[i])]
    n_list = sorted(all, list)
    for (k = 1; k <= n_list; k++) {
        n = 0
        for (i = 1; i <= 3; i++) {
            group[i] = backend SUBSEP element SUBSEP usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP base (i == 1 ? "" : ", " kind[i]) SUBSEP list[k]
            if (timed[group[i]]) present[++n] = i
        }
        if (!n || present[n] == 1) continue
        m = 0
        for (i = 1; i <= n; i++) names[++m] = kind[present[i]]
        for (i = 1; i <= n; i++) if (present[i] > 1) names[++m] = kind[present[i]] " / double"
        for (i = 1; i <= n; i++) if (present[i] > 1) names[++m] = "error " kind[present[i]]
        printf "\n## %s on %s, %s%d DoF: %s in each precision, %s\n\n", element, backend, base == "box" ? "" : base ", ", list[k], op, unit_name(backend)
        print "Errors are the largest of all operations against the oracle, which is in double precision.\n"
        header("variant", names, m, "", "")
        for (v = 1; v <= count["variants"]; v++) {
            variant = item["variants", v]; text = "| `" variant "` |"; rows = 0
            for (i = 1; i <= n; i++) {
                if (present[i] > 1 && has[group[present[i]], variant]) rows = 1
                text = text " " cell(group[present[i]], op, variant) " |"
            }
            for (i = 1; i <= n; i++) if (present[i] > 1) text = text " " gain(group[present[i]], group[1], op, variant) " |"
            for (i = 1; i <= n; i++)
                if (present[i] > 1) text = text " " (error[group[present[i]], variant] == "" ? "" : sprintf("%.1e", error[group[present[i]], variant])) " |"
            if (rows) print text
        }
    }
}
# residual and material by both laws of hardening on a mesh, at each size that has Voce's.
function over_laws(backend, element, base,    n, k, list, v, o, group, op, names, variant, text) {
    n = sorted(sizes[backend, element, usual_order, 1, "clustered", base ", voce"], list); split("residual material", op, " ")
    for (o = 1; o <= 2; o++) { names[3 * o - 2] = op[o] " linear"; names[3 * o - 1] = op[o] " voce"; names[3 * o] = "voce / linear" }
    for (k = 1; k <= n; k++) {
        for (v = 0; v <= 1; v++) group[v] = backend SUBSEP element SUBSEP usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP base (v ? ", voce" : "") SUBSEP list[k]
        printf "\n## %s on %s, %s%d DoF: laws of hardening, %s\n\n", element, backend, base == "box" ? "" : base ", ", list[k], unit_name(backend)
        print "The other operations read stored tangents, whatever the law.\n"
        header("variant", names, 6, "", "")
        for (v = 1; v <= count["variants"]; v++) {
            variant = item["variants", v]; text = "| `" variant "` |"
            if (!has[group[1], variant]) continue
            for (o = 1; o <= 2; o++) text = text " " cell(group[0], op[o], variant) " | " cell(group[1], op[o], variant) " | " gain(group[1], group[0], op[o], variant) " |"
            print text
        }
    }
}
END {
    if (!count["groups"]) exit
    usual_order = "lexicographic" # of older results
    for (i = 1; i <= count["orders"]; i++) if (item["orders", i] == "auto") usual_order = "auto"
    printf "# Kernels on %s, commit %s\n\n", machine, commit
    print "Median throughput with its 95 % interval; bold is the fastest of its column if its interval overlaps no other."
    print "Where no cell is bold, the samples cannot tell. `results/README.md` explains columns and ceiling."
    for (g = 1; g <= count["groups"]; g++) {
        split(item["groups", g], name, SUBSEP)
        shown = 0
        usual = usual_order SUBSEP 1 SUBSEP "clustered" SUBSEP "box"
        if (sizes[name[1], name[2], usual] != "") {
            operations(name[1], name[2], usual)
            set_ups(name[1], name[2], usual)
            continue
        }
        for (i = 1; i <= count["settings"]; i++)
            if (!shown && sizes[name[1], name[2], item["settings", i]] != "") {
                operations(name[1], name[2], item["settings", i])
                set_ups(name[1], name[2], item["settings", i])
                shown = 1
            }
    }
    for (g = 1; g <= count["energies"]; g++) energies(item["energies", g])
    for (g = 1; g <= count["groups"]; g++) {
        split(item["groups", g], name, SUBSEP)
        for (i = 1; i <= count["all meshes"]; i++) {
            over("orders", name[1], name[2], "clustered", "", item["all meshes", i])
            over("plastics", name[1], name[2], "clustered", "plastic ", item["all meshes", i])
            over("plastics", name[1], name[2], "scattered", "plastic ", item["all meshes", i])
            over("plastics", name[1], name[2], "zones", "plastic ", item["all meshes", i])
        }
        over_meshes(name[1], name[2], "jacvec_elastic")
        over_meshes(name[1], name[2], "jacvec")
        for (i = 1; i <= count["meshes"]; i++) if (item["meshes", i] != "box") on_mesh(name[1], name[2], item["meshes", i])
        for (i = 1; i <= count["all meshes"]; i++) {
            over_precisions(name[1], name[2], item["all meshes", i], "residual")
            over_precisions(name[1], name[2], item["all meshes", i], "jacvec_elastic")
            over_precisions(name[1], name[2], item["all meshes", i], "jacvec")
            over_laws(name[1], name[2], item["all meshes", i])
        }
    }
    if (marked) print "\n†: above its ceiling. Caches held more than the model says, or the machine was slower while its ceilings were\nmeasured."
    folder = FILENAME
    sub(/[^\/]*$/, "", folder)
    while ((getline point < (folder "left-out.txt")) > 0) left = left (left == "" ? "" : "; ") point
    if (left != "") { print ""; wrap("Left out for time: " left ".") }
}
# Prints text in lines of at most 118 characters.
function wrap(text,    n, i, word, line) {
    n = split(text, word, " ")
    for (i = 1; i <= n; i++) {
        if (line != "" && length(line) + 1 + length(word[i]) > 118) { print line; line = "" }
        line = line (line == "" ? "" : " ") word[i]
    }
    print line
}
