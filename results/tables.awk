# Rewrites the generated parts of one Markdown file; results/tables.sh calls it and names all inputs by variables:
#   run   line of results/current.csv that a file belongs to
#   file  what it is: variants, current, kernels.csv, scaling.csv, storage.csv, machine.csv, ..., document
#   document, up, check   the Markdown file, the way from it to the root, 1: only compare
#
# A part is  <!-- rows: NAME ARGUMENTS -->  to  <!-- end -->,  or in a line  <!--n:CARD ELEMENT VARIANT OPERATION-->value<!--/n-->.
# Numbers are medians with their 95 % intervals. What a part needs and no row has ends the program with exit 1.
BEGIN { FS = ","; n_op = split("residual material jacvec_elastic jacvec diagonal", ops, " "); elements[1] = "hex8"; elements[2] = "tet4" }
function fault(text) { print "results/tables.sh: " document ": " text >"/dev/stderr"; failed = 1; exit 1 }
# Rows up to schema 2 call element_only bound.
function get(name) { return name == "variant" && $(column[name]) == "bound" ? "element_only" : $(column[name]) }
FNR == 1 && file ~ /\.csv$/ { split("", column); for (i = 1; i <= NF; i++) column[$i] = i; next }
file ~ /\.csv$/ && ("variant" in column) { measured[get("variant")] = 1 } # the others are new: nothing is asked of them

# Products on meshes of all kinds, in all precisions; cubes of all sizes are one mesh. Voce's law takes the place of a precision.
function take_product(b, e, v, p, d,    m, at, unit, precision) {
    m = get("case") ~ /^box[0-9]+-distorted$/ ? "box" : get("case"); at = run SUBSEP b SUBSEP e
    precision = ("hardening" in column) && get("hardening") != "linear" ? get("hardening") : ("precision" in column) ? get("precision") : "double"
    if (!((at, m, d) in has_mesh)) { has_mesh[at, m, d] = 1; mesh[at, ++n_mesh[at]] = m; mesh_dof[at, n_mesh[at]] = d }
    if (precision != "double" && p ~ /^jacvec/) is_shown["precision", at, m, d, v] = 1
    if (precision == "voce") is_shown["hardening", at, m, d, v] = 1
    if (("nj_per_dof" in column) && get("nj_per_dof") != "") { is_shown["energy", at, m, d, v] = 1; energy["product", at, m, d, v, p, precision] = get("nj_per_dof") }
    at = "product" SUBSEP at SUBSEP m SUBSEP d SUBSEP v SUBSEP p SUBSEP precision
    state[at] = get("status")
    if (state[at] != "ok") return
    unit = b == "host" ? 1e-6 : 1e-9
    mid[at] = unit * d / get("median_s"); low[at] = unit * d / get("ci95_high_s"); high[at] = unit * d / get("ci95_low_s")
}

# --- inputs ---------------------------------------------------------------------------------------------------
file == "variants" && /^FE_VARIANT\(/ { sub(/^FE_VARIANT\(/, ""); sub(/\).*/, ""); variant[++n_variant] = $0; next }
file == "variants" { next }
file == "current" {
    if (FNR == 1) next
    machine[++n_run] = $1; folder[n_run] = "results/" $1 "/" $2; commit[n_run] = $3; proves[n_run] = $4; lacks[n_run] = $5
    n = split($4, word, " ")
    for (i = 1; i <= n; i++) has_word[n_run, word[i]] = 1
    if (!headline && (n_run, "kernels") in has_word) headline = n_run
    next
}
file == "machine.csv" { fact[run, $1] = $2; next }
file == "kernels.csv" {
    b = get("backend"); e = get("element"); o = get("order"); d = get("n_dof") + 0; v = get("variant"); p = get("operation")
    device[run, b] = get("device"); threads[run, b] = get("threads")
    if (!((run, b) in has_backend)) { has_backend[run, b] = 1 }
    n_rows[run]++; n_samples[run, get("repetitions") + 0]++
    if (get("status") == "ok") n_ok[run]++
    if (o == "auto" && get("plastic") + 0 == 1 && get("plastic_pattern") == "clustered") take_product(b, e, v, p, d)
    if (("hardening" in column) && get("hardening") != "linear") next
    if (("precision" in column) && get("precision") != "double") next
    if (get("error") != "" && get("error") + 0 > worst[run] + 0) worst[run] = get("error")
    if (get("plastic") + 0 != 1 || ("plastic_pattern" in column) && get("plastic_pattern") != "clustered") next
    if (get("case") !~ /^box[0-9]+-distorted$/) next
    if (!((run, b, e, o, d) in has_size)) {
        has_size[run, b, e, o, d] = 1
        size[run, b, e, o, ++n_size[run, b, e, o]] = d
        if (d > largest[run, b, e, o] + 0) largest[run, b, e, o] = d
    }
    present[run, b, v] = 1; box = get("case"); gsub(/[^0-9]/, "", box); cells[run, b, e, d] = box
    at = run SUBSEP b SUBSEP e SUBSEP o SUBSEP d SUBSEP v SUBSEP p
    state[at] = get("status")
    if (get("deterministic") == "0") changes[run, b, v] = 1
    setup[run, b, e, o, d, v] = 1e3 * get("setup_s"); own[run, b, e, o, d, v] = get("bytes_work") / d
    held[run, b, e, o, d, v] = get("bytes") / d
    if (get("bytes_moved") != "") { flop[run, e, p] = get("flop") / get("n_elem"); moved[run, e, p] = get("bytes_moved") / d }
    if (state[at] != "ok") next
    repetitions[at] = get("repetitions")
    unit = b == "host" ? 1e-6 : 1e-9
    mid[at] = unit * d / get("median_s"); low[at] = unit * d / get("ci95_high_s"); high[at] = unit * d / get("ci95_low_s")
    next
}
file == "storage.csv" {
    if (get("status") != "ok") next
    storage_about[run] = get("order") ", " size_text(get("n_dof")) " degrees of freedom"
    at = run SUBSEP get("element") SUBSEP get("variant") SUBSEP get("storage") SUBSEP get("operation")
    mid[at] = 1e-9 * get("n_dof") / get("median_s")
    low[at] = 1e-9 * get("n_dof") / get("ci95_high_s"); high[at] = 1e-9 * get("n_dof") / get("ci95_low_s")
    if (!((get("storage")) in has_storage)) { has_storage[get("storage")] = 1; storage[++n_storage] = get("storage") }
    next
}
file == "solves.csv" {
    d = get("case") SUBSEP get("element") SUBSEP get("precondition") SUBSEP get("ranks") SUBSEP get("backend")
    if (get("status") != "ok") { # a case without times: by how many strategies, and with which errors
        k = run SUBSEP d SUBSEP get("status"); x = get("error")
        if (!n_refused[k]++) refused[run, ++n_refusal[run]] = k
        if (x != "" && (!(k in refused_least) || x + 0 < refused_least[k] + 0)) refused_least[k] = x
        if (x + 0 > refused_most[k] + 0) refused_most[k] = x
        next
    }
    if (!((run, d) in has_solve)) { has_solve[run, d] = 1; solve[run, ++n_solve[run]] = d }
    v = get("variant"); at = run SUBSEP d SUBSEP v; p = get("operation")
    if (!((run, v) in has_solver)) { has_solver[run, v] = 1; solver[run, ++n_solver[run]] = v }
    mid[at, p] = 1e3 * get("median_s"); low[at, p] = 1e3 * get("ci95_low_s"); high[at, p] = 1e3 * get("ci95_high_s")
    if (p == "material" || p == "residual" || p == "jacvec" || p == "precondition_product") share[at] += mid[at, p]
    if (p == "solve") { k = get("repetitions") + 0; if (!(run in solve_least) || k < solve_least[run]) solve_least[run] = k; if (k > solve_most[run] + 0) solve_most[run] = k }
    newton[at] = get("newton_iterations"); krylov[at] = get("krylov_iterations"); solve_dof[run, d] = get("n_dof")
    next
}
file == "left-out.txt" { if (!/ DoF|, plastic /) left_out[run] = left_out[run] (left_out[run] == "" ? "" : "; ") $0; next }
file == "anderson.csv" {
    d = get("depth")
    if (!((run, d) in has_depth)) { has_depth[run, d] = 1; depth[run, ++n_depth[run]] = d }
    mixed[run, get("element"), get("jacobian"), d] = get("status") == "converged" ? get("newton") : "-"
    anderson_about[run] = get("problem") ", " get("steps") " load steps"
    next
}
file == "orthogonality.csv" {
    lost[run, get("precondition"), get("orthogonalization"), get("basis"), get("columns")] = get("loss")
    next
}
file == "scaling.csv" {
    if (get("status") != "ok") next
    split(get("case"), part, "-")
    d = part[1] == "weak" ? sprintf("%d", get("n_dof") / get("ranks") + 0.5) : get("n_dof")
    box = mesh_of(get("case")) # of weak boxes the cells of all ranks: told apart by the cells of one rank
    if (part[1] == "weak") { split(part[2], grid, "x"); sub(/^box/, "", box); split(box, side, "x"); box = side[1] / grid[1] "x" side[2] / grid[2] "x" side[3] / grid[3] }
    s = run SUBSEP get("element") SUBSEP part[1] SUBSEP box SUBSEP (part[1] == "weak" ? "" : d)
    if (!(s in n_ranks)) { scene[++n_scene] = s; scene_dof[s] = d }
    one_way(s, get("case"), get("ranks"))
    span("rank_dof" s, get("n_dof") / get("ranks") / 1e6)
    if (!((s, get("ranks")) in has_ranks)) { has_ranks[s, get("ranks")] = 1; ranks[s, ++n_ranks[s]] = get("ranks") }
    at = s SUBSEP get("ranks") SUBSEP get("variant") SUBSEP get("operation")
    mid[at] = 1e3 * get("median_s"); low[at] = 1e3 * get("ci95_low_s"); high[at] = 1e3 * get("ci95_high_s")
    scaling_device[run] = get("device"); scaling_of[run] = get("backend") == "cuda" ? "GPU" : "rank"; scaling_repetitions[run, get("repetitions")] = 1
    next
}
file == "profile.md" {
    if (/^# /) { profile_order[run] = $0; sub(/^.*, /, "", profile_order[run]); sub(/ order$/, "", profile_order[run]) }
    if (/^## /) { profiled = $0; sub(/^## /, "", profiled); sub(/,.*/, "", profiled); profile_dof = $0; sub(/^[^,]*, /, "", profile_dof); sub(/ .*/, "", profile_dof) }
    if (/^\| `/) { line = $0; gsub(/^\| `/, "", line); profile[run, ++n_profile[run]] = profiled SUBSEP line; profile_dofs[run] = profile_dof }
    next
}
file == "validation.md" {
    n = split($0, field, / *\| */)
    if (field[2] == "variant" || field[2] ~ /^-/ || n < 10) next
    at = run SUBSEP field[4] SUBSEP field[5]
    if (!(at in has_problem)) { has_problem[at] = 1; problem[++n_problem] = at }
    for (i = 6; i <= 8; i++) if (field[i] + 0 > problem_error[at, i] + 0) problem_error[at, i] = field[i]
    if (!((run, field[2] " " field[3]) in has_pair)) { has_pair[run, field[2] " " field[3]] = 1; n_pair[run, field[3]]++ }
    next
}
file == "box405.log" {
    if (/ nodes, /) { big_nodes = $0; sub(/^[^:]*: /, "", big_nodes); split(big_nodes, w, " "); big_n = w[1]; sub(/;.*/, "", big_nodes) }
    if (/^ *1 +[0-9]/) { split($0, w, " "); big_newton = w[2]; big_krylov = w[3]; big_s = w[7]; big_run = run }
    next
}
file ~ /^bracket-/ { # a result of solve: one key a line
    text = $0
    if (text ~ /"step":/) { gsub(/[^0-9]/, "", text); bracket_step = text + 0 }
    if (text ~ /"tip": \[/) bracket_at = FNR + 2 # its y
    if (FNR == bracket_at) bracket_tip[run, file, bracket_step] = text + 0
    if (text ~ /"max_peeq":/) { gsub(/[^0-9.e+-]/, " ", text); split(text, w, " "); bracket_peeq[run, file, bracket_step] = w[split(text, w, " ")] }
    if (text ~ /"iterations":/) { gsub(/[^0-9]/, "", text); bracket_newton[run, file] += text }
    if (text ~ /"krylov_iterations":/) { gsub(/[^0-9]/, "", text); bracket_krylov[run, file] += text }
    next
}

# --- text -----------------------------------------------------------------------------------------------------
function out(text) { new = new text "\n" }
function digits(x,    a) { a = x < 0 ? -x : x; return sprintf(a >= 100 ? "%.0f" : a >= 10 ? "%.1f" : "%.2f", x) }
function interval(at) { return digits(mid[at]) " (" digits(low[at]) "–" digits(high[at]) ")" }
function interval_of_several(at) { return low[at] < high[at] ? interval(at) : digits(mid[at]) } # or of one sample
function width(text) { gsub(/[\200-\277]/, "", text); return length(text) }
function wrap(text, indent,    n, w, i, line) { # to at most 118 characters
    n = split(text, w, " "); line = w[1]
    for (i = 2; i <= n; i++)
        if (width(line " " w[i]) > 118) { out(line); line = indent w[i] } else line = line " " w[i]
    out(line)
}
function short(r,    t) {
    t = machine[r]
    return t ~ /h100/ ? "H100" : t ~ /h200/ ? "H200" : t ~ /b200/ ? "B200" : t ~ /a100/ ? "A100" : fact[r, "cpu"] != "" ? fact[r, "cpu"] ", " fact[r, "cores"] " cores" : t
}
function place(r, b,    t) { # the card, or the processor
    if (b != "host") return short(r)
    t = fact[r, "cpu"]; gsub(/\([RT]M?\)/, "", t)
    return "host " t ", " threads[r, b] " threads"
}
function title(e) { return e == "hex8" ? "Hex8" : e == "tet4" ? "Tet4" : e }
function size_text(d) { return d + 0 < 95000 ? digits(d / 1e3) " k" : digits(d / 1e6) " M" }
function about(r, b) { return (b == "host" ? fact[r, "cpu"] ", " threads[r, b] " threads" : device[r, b]) }
function main_order(r, b, e) { # auto since the order is the strategy's choice
    return (r, b, e, "auto") in largest ? "auto" : (r, b, e, "lexicographic") in largest ? "lexicographic" : "bisection"
}
# The orders of the rows that were shown, in words.
function order_words(    text) {
    if ("auto" in shown_order) text = "order `auto`" (length(shown_order) > 1 ? "; in older runs " : "")
    if ("lexicographic" in shown_order) text = text "lexicographic order"
    else if ("bisection" in shown_order) text = text "order `bisection`"
    delete shown_order
    return text
}
# The row of a strategy at the largest size, in the order that most rows are of.
function row(r, b, e, v, p, o, d) {
    if (o == "") o = main_order(r, b, e)
    if (d == "") d = largest[r, b, e, o]
    return r SUBSEP b SUBSEP e SUBSEP o SUBSEP d SUBSEP v SUBSEP p
}
function need(at,    w) {
    if (state[at] == "ok") return at
    split(at, w, SUBSEP)
    fault(folder[w[1]] "/kernels.csv has no row" (state[at] == "" ? "" : " with times (its status is " state[at] ")") \
        " of " w[6] " " w[7] " on " w[2] ", " w[3] ", order " w[4] ", n_dof " w[5] ", plastic 1")
}
function cell(at) { return state[at] == "ok" ? interval(at) : state[at] == "" ? "" : state[at] }
function ratio(a, b) { return digits(mid[a] / mid[b]) " (" digits(low[a] / high[b]) "–" digits(high[a] / low[b]) ")" }
# The fastest strategy of an operation, and whether intervals say so; steady: of those that were reproducible.
function fastest(r, b, e, p, o, d, steady,    i, at, best) {
    best = ""; sure = 1
    for (i = 1; i <= n_variant; i++) {
        if (variant[i] == "hybrid" || steady && (r, b, variant[i]) in changes) continue
        at = row(r, b, e, variant[i], p, o, d)
        if (state[at] == "ok" && (best == "" || mid[at] > mid[row(r, b, e, best, p, o, d)])) best = variant[i]
    }
    for (i = 1; i <= n_variant; i++) {
        if (variant[i] == best || variant[i] == "hybrid" || steady && (r, b, variant[i]) in changes) continue
        at = row(r, b, e, variant[i], p, o, d)
        if (state[at] == "ok" && high[at] >= low[row(r, b, e, best, p, o, d)]) sure = 0
    }
    return best
}
# On the host assembled_cusparse is our own loop over the same matrix: no library is involved.
function names(best, b) { return "`" best "`" (b == "host" && best == "assembled_cusparse" ? " (our own loop on the host)" : "") (sure ? "" : " (intervals overlap)") }
function table_link(r) { return "[table](" up folder[r] "/table.md)" }

# --- parts ----------------------------------------------------------------------------------------------------
function figure(    r, b, name, o, n, first, last, e) {
    r = headline; b = (r, "cuda") in has_backend ? "cuda" : "host"; e = "hex8"; o = main_order(r, b, e); n = n_size[r, b, e, o]
    name = (n > 1 ? "throughput-" : "operations-") b ".svg"
    out("![" (n > 1 ? "Throughput of tangent products over problem size" : "Throughput of all operations") " on " about(r, b) "](" up folder[r] "/" name ")")
    out("")
    for (i = 1; i <= n; i++) if (!first || size[r, b, e, o, i] < first) first = size[r, b, e, o, i]
    last = largest[r, b, e, o]
    wrap("*" (n > 1 ? "Tangent products on distorted boxes of " size_text(first) " to " : "All operations on distorted boxes of ") size_text(last) \
        " degrees of freedom, all points plastic, one " about(r, b) ", commit " commit[r] ". `element_only` is the element kernel of `element_atomic` without any sums; `ceiling` is the [modelled limit](" up "docs/method.md#ceilings) (" table_link(r) ").*", "")
}
# Text cells are kept; the cells of numbers after them are made anew.
function strategies(keep,    n, lines, i, w, k, v, text, known, b, e, p, at) {
    b = (headline, "cuda") in has_backend ? "cuda" : "host"
    n = split(old, lines, "\n")
    for (i = 1; i < n; i++) {
        k = split(lines[i], w, / *\| */)
        text = "|"
        for (j = 2; j <= keep + 1; j++) text = text (lines[i] ~ /^\|--/ ? w[j] : " " w[j] " ") "|"
        if (lines[i] ~ /^\|--/) { out(text "---:|---:|---:|---:|"); continue }
        if (match(lines[i], /`[a-z_]+`/) == 0) {
            out(text " Hex8 elastic | Hex8 tangents | Tet4 elastic | Tet4 tangents |")
            continue
        }
        v = substr(lines[i], RSTART + 1, RLENGTH - 2); known = known " " v " "
        if (!(v in measured)) { out(lines[i]); continue }
        if (!((headline, b, v) in present)) { out(text " not in this run | | | |"); continue }
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
            at = row(headline, b, elements[e], v, ops[p])
            text = text " " cell(state[at] == "" ? need(at) : at) " |"
        }
        out(text)
    }
    for (i = 1; i <= n_variant; i++) if ((variant[i] in measured) && !index(known, " " variant[i] " ")) fault("the table of strategies has no line of " variant[i])
}
function strategies_about(    b, o, i, e, p, n, least, most, list, text) {
    b = (headline, "cuda") in has_backend ? "cuda" : "host"; o = main_order(headline, b, "hex8")
    for (i = 1; i <= n_variant; i++) for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
        n = repetitions[row(headline, b, elements[e], variant[i], ops[p])] + 0
        if (n && (!least || n < least)) least = n
        if (n > most) most = n
    }
    n = sizes_of(headline, b, "hex8", o, list)
    text = "Numbers: " (b == "host" ? "million" : "billion") " degrees of freedom per second (" (b == "host" ? "MDoF/s" : "GDoF/s") ") of one tangent product on " about(headline, b) ", box of " \
        cells[headline, b, "hex8", list[n]] " cells a side (" size_text(list[n]) " degrees of freedom), " o " order: median of " (least == most ? most : least " to " most) \
        " samples (95 % interval), commit " commit[headline] " (" table_link(headline) ")."
    if (n > 1) text = text " This is one size; [others](" up "docs/findings.md#sizes) can give another ranking."
    wrap(text " *Elastic*: the same plastic mesh after an elastic material update, so no stored tangent is read. *Tangents*: the stored tangent of every point is read." \
        " *Reproducible*: the same bits in every run. *Patch*: up to 128 Hex8 or 360 Tet4 that one block of threads computes in shared memory.", "")
}
# Sizes of an element in an order, ascending; their number.
function sizes_of(r, b, e, o, list,    i, n) {
    n = n_size[r, b, e, o]
    for (i = 1; i <= n; i++) list[i] = size[r, b, e, o, i]
    sort(list, n)
    return n
}
# All cases of tangent products on boxes by the first run of each card, as run, order, degrees of freedom, element and
# operation in case_run[i], case_order[i], ...; lines of tables are run, order and degrees of freedom.
function find_cases(    r, o, e, i, n, p, list, orders, seen) {
    if (n_case) return
    split("auto lexicographic bisection rcm morton random", orders, " ")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "kernels") in has_word || (r, "sizes") in has_word) || !((r, "cuda") in has_backend) || seen[machine[r]]++) continue
        for (o = 1; o <= 6; o++) {
            n = sizes_of(r, "cuda", "hex8", orders[o], list)
            for (i = 1; i <= n; i++) {
                line_run[++n_line] = r; line_order[n_line] = orders[o]; line_dof[n_line] = list[i]
                for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
                    case_line[++n_case] = n_line; case_run[n_case] = r; case_order[n_case] = orders[o]; case_dof[n_case] = list[i]
                    case_element[n_case] = elements[e]; case_operation[n_case] = ops[p]
                }
            }
        }
    }
}
function line_name(i) { return "[" short(line_run[i]) "](" up folder[line_run[i]] "/table.md) | " line_order[i] " | " size_text(line_dof[i]) }
# The least and the largest value that was given for a key, and both as text.
function span(key, x) {
    if (!(key in least_of) || x < least_of[key]) least_of[key] = x
    if (!(key in most_of) || x > most_of[key]) most_of[key] = x
}
# The row of a strategy in a line.
function line_row(i, e, v, p) { return need(row(line_run[i], "cuda", e, v, p, line_order[i], line_dof[i])) }
# patch and assembled_bsr, a line for each card, order and size.
function baseline(    i, e, p, text) {
    find_cases()
    out("| card | order | DoF | Hex8 elastic | Hex8 tangents | Tet4 elastic | Tet4 tangents | `material`, products: Hex8 | Tet4 |"); out("|---|---|---:|---:|---:|---:|---:|---:|---:|")
    for (i = 1; i <= n_line; i++) {
        text = "| " line_name(i) " |"
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) text = text " " ratio(line_row(i, elements[e], "patch", ops[p]), line_row(i, elements[e], "assembled_bsr", ops[p])) " |"
        for (e = 1; e <= 2; e++) text = text " " ratio(line_row(i, elements[e], "assembled_bsr", "jacvec"), line_row(i, elements[e], "assembled_bsr", "material")) " |"
        out(text)
    }
}
# The fastest strategy, the same lines; then the fastest reproducible one and its share of that.
function fastest_table(    i, e, p, k, best, steady, text) {
    find_cases()
    for (k = 0; k < 2; k++) {
        if (k) { out(""); out("The fastest reproducible strategy, and its share of the throughput of the fastest:"); out("") }
        out("| card | order | DoF | Hex8 elastic | Hex8 tangents | Tet4 elastic | Tet4 tangents |"); out("|---|---|---:|---|---|---|---|")
        for (i = 1; i <= n_line; i++) {
            text = "| " line_name(i) " |"
            for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
                steady = fastest(line_run[i], "cuda", elements[e], ops[p], line_order[i], line_dof[i], 1)
                best = fastest(line_run[i], "cuda", elements[e], ops[p], line_order[i], line_dof[i], 0)
                if (!k) text = text " " names(best, "cuda") " " interval(line_row(i, elements[e], best, ops[p])) " |"
                else text = text (steady == "" ? "" : " `" steady "` " (steady == best ? "1" : ratio(line_row(i, elements[e], steady, ops[p]), line_row(i, elements[e], best, ops[p])))) " |"
            }
            out(text)
        }
    }
}
function sort(list, n,    i, j, t) {
    for (i = 2; i <= n; i++) for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
}
# The extremes over all strategies, elements, products and cards that were measured in two orders.
function finding_order(    r, e, p, i, d, x, least, most, low_name, high_name, dof, text) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "orders") in has_word)) continue
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) for (i = 1; i <= n_variant; i++) {
            if (variant[i] == "hybrid") continue
            d = largest[r, "cuda", elements[e], "bisection"]
            if (state[row(r, "cuda", elements[e], variant[i], ops[p], "bisection", d)] == "") continue # newer than the run
            x = mid[need(row(r, "cuda", elements[e], variant[i], ops[p], "bisection", d))] / mid[need(row(r, "cuda", elements[e], variant[i], ops[p], "lexicographic", d))]
            text = "`" variant[i] "`, " title(elements[e]) " " (p == 3 ? "elastic" : "with tangents") ", " short(r)
            if (!dof || x < least) { least = x; low_name = text }
            if (!dof || x > most) { most = x; high_name = text }
            dof = d
        }
    }
    if (dof) wrap("At " size_text(dof) " degrees of freedom, the one size in two orders, `bisection` instead of lexicographic multiplies throughput by " \
        digits(least) " (" low_name ") to " digits(most) " (" high_name ").", "")
    else out("No current run holds two orders.")
}
function is_box(mesh) { return mesh ~ /^(box)?[0-9.]+x/ }
# In a case without times: the answers of all strategies failed the check.
function all_wrong(r, i,    w) { split(refused[r, i], w, SUBSEP); return w[7] == "check_failed" && n_refused[refused[r, i]] == n_solver[r] }
# A case of whole solves that has no times, and why.
function refusal(r, i,    w, k) {
    k = refused[r, i]; split(k, w, SUBSEP)
    if (all_wrong(r, i)) return w[2] ", " title(w[3]) ", " w[4] " has no times: the answers of all " n_refused[k] " strategies failed the check"
    return w[2] ", " title(w[3]) ", " w[4] " has no times: status `" w[7] "` with " (n_refused[k] == n_solver[r] ? "all " : "") n_refused[k] " strategies"
}
function runs(    r) {
    out("| machine | run | commit | proves |"); out("|---|---|---|---|")
    for (r = 1; r <= n_run; r++) out("| " machine[r] " | [" substr(folder[r], length("results/" machine[r] "/") + 1) "](" up folder[r] "/) | " commit[r] " | " proves[r] " |")
}
function machines(    r) {
    out("| machine | memory, GB/s | FP64 multiply-add, GFLOP/s | driver | CUDA | compiler |"); out("|---|---:|---:|---|---|---|")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "kernels") in has_word)) continue
        if (fact[r, "gpu"] != "") out("| " fact[r, "gpu"] " | " fact[r, "cuda_copy_gb_per_s"] " | " fact[r, "cuda_fma_gflop_per_s"] " | " fact[r, "driver"] " | " fact[r, "cuda"] " | nvcc |")
        if ((r, "host") in has_backend) out("| " fact[r, "cpu"] ", " fact[r, "host_threads"] " threads | " fact[r, "host_copy_gb_per_s"] " | " fact[r, "host_fma_gflop_per_s"] " | | | " fact[r, "compiler"] " |")
    }
}
function work_model(    e, p) {
    out("| element | operation | modelled bytes per degree of freedom | counted flop per element |"); out("|---|---|---:|---:|")
    for (e = 1; e <= 2; e++) for (p = 1; p <= n_op; p++)
        out("| " title(elements[e]) " | `" ops[p] "` | " digits(moved[headline, elements[e], ops[p]]) " | " digits(flop[headline, elements[e], ops[p]]) " |")
}
function checks(    r, k, w, reps, n, i) {
    out("| run | rows | with times | samples per row | largest error against the oracle |"); out("|---|---:|---:|---|---:|")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "kernels") in has_word)) continue
        reps = ""
        for (i = 1; i <= 99; i++) if ((r, i) in n_samples) reps = reps (reps == "" ? "" : ", ") i
        out("| [" machine[r] ", " commit[r] "](" up folder[r] "/table.md) | " n_rows[r] " | " n_ok[r] " | " reps " | " worst[r] " |")
    }
}
function validation(    i, w, r, text) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "validation") in has_word)) continue
        text = ""
        if (n_pair[r, "host"]) text = n_pair[r, "host"] " strategies on the host"
        if (n_pair[r, "cuda"]) text = text (text == "" ? "" : ", ") n_pair[r, "cuda"] " on CUDA"
        wrap("Largest error over all load steps and strategies; " machine[r] ", commit " commit[r] ", " text " ([all rows](" up folder[r] "/validation.md)):", "")
        out(""); out("| problem | mesh | displacement | reaction | equivalent plastic strain |"); out("|---|---|---:|---:|---:|")
        for (i = 1; i <= n_problem; i++) {
            split(problem[i], w, SUBSEP)
            if (w[1] == r) out("| " w[2] " | `" w[3] "` | " shown(problem_error[problem[i], 6]) " | " shown(problem_error[problem[i], 7]) " | " shown(problem_error[problem[i], 8]) " |")
        }
        seen_validation = 1
    }
    if (!seen_validation) fault("no run of results/current.csv proves 'validation'")
}
function shown(x) { return x == "" ? "0" : x }
# Newton iterations with Anderson acceleration: a row for each element and Jacobian.
function anderson(    r, e, j, k, text, jacobian) {
    split("tangent elastic", jacobian, " ")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "anderson") in has_word)) continue
        out("![Residual over iterations with and without Anderson acceleration](" up folder[r] "/anderson-host.svg)"); out("")
        wrap("Iterations of Newton's method, " anderson_about[r] ", elastic predictor, commit " commit[r] " ([rows](" up folder[r] "/anderson.csv)):", ""); out("")
        text = "| element | Jacobian |"; for (k = 1; k <= n_depth[r]; k++) text = text " depth " depth[r, k] " |"
        out(text); text = "|---|---|"; for (k = 1; k <= n_depth[r]; k++) text = text "---:|"
        out(text)
        for (e = 1; e <= 2; e++)
            for (j = 1; j <= 2; j++) {
                text = "| " title(elements[e]) " | `" jacobian[j] "` |"
                for (k = 1; k <= n_depth[r]; k++) text = text " " mixed[r, elements[e], jacobian[j], depth[r, k]] " |"
                out(text)
            }
        return
    }
    out("No current run holds Anderson acceleration.")
}
# Loss of orthogonality of GMRES's bases: a row for each method and precision.
function orthogonality(    r, i, j, k, c, text, kind, method, basis, columns) {
    split("multigrid none", kind, " "); split("mgs cgs2 dcgs2", method, " "); split("double single", basis, " "); split("10 30 80", columns, " ")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "orthogonality") in has_word)) continue
        out("![Loss of orthogonality over the number of columns](" up folder[r] "/orthogonality-host.svg)"); out("")
        wrap("Loss of orthogonality after 10, 30 and 80 columns, coarse bracket, Hex8, first load step, with `multigrid` (well-conditioned) and without a preconditioner (ill-conditioned), commit " commit[r] " ([rows](" up folder[r] "/orthogonality.csv)):", ""); out("")
        out("| method | basis | `multigrid`, 10 | 30 | 80 | `none`, 10 | 30 | 80 |"); out("|---|---|---:|---:|---:|---:|---:|---:|")
        for (j = 1; j <= 3; j++)
            for (k = 1; k <= 2; k++) {
                text = "| `" method[j] "` | `" basis[k] "` |"
                for (i = 1; i <= 2; i++) for (c = 1; c <= 3; c++) text = text sprintf(" %.1e |", lost[r, kind[i], method[j], basis[k], columns[c]])
                out(text)
            }
        return
    }
    out("No current run holds bases of GMRES.")
}
# What stands above a table of whole solves of run r.
function out_solves_of(r, what) {
    wrap("Milliseconds, " what short(r) ", commit " commit[r] ", medians of " (solve_least[r] == solve_most[r] ? "" : solve_least[r] " to ") solve_most[r] " solves with " \
        (solve_most[r] < 9 ? "their range" : "95 % intervals") " ([table](" up folder[r] "/solves.md), [rows](" up folder[r] "/solves.csv)):", ""); out("")
}
# Whole solves of patch, and how the other strategies' compare.
function solves(    r, i, j, w, at, text, any, several) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "solves") in has_word)) continue
        out_solves_of(r, "`patch`, ")
        out("| case | element | DoF | GPUs | preconditioner | Newton | Krylov | preconditioner's set-up | solve | solve, graphs |")
        out("|---|---|---:|---:|---|---:|---:|---:|---:|---:|")
        for (i = 1; i <= n_solve[r]; i++) {
            split(solve[r, i], w, SUBSEP); at = r SUBSEP solve[r, i] SUBSEP "patch"
            if (!((at, "solve") in mid)) continue
            out("| " w[1] " | " title(w[2]) " | " solve_dof[r, solve[r, i]] " | " w[4] " | " w[3] " | " newton[at] " | " krylov[at] " | " \
                (w[3] == "multigrid" ? interval_of_several(at SUBSEP "precondition_setup") : "") " | " interval(at SUBSEP "solve") " | " \
                ((at, "solve_graph") in mid ? interval(at SUBSEP "solve_graph") : "") " |")
        }
        out("")
        for (i = 1; i <= n_refusal[r]; i++) {
            wrap("**" refusal(r, i) "**; their errors are " sprintf("%.1e to %.1e", refused_least[refused[r, i]], refused_most[refused[r, i]]) ", 1e-6 is allowed.", ""); out("")
        }
        if (left_out[r] != "") { wrap("Left out for time: " left_out[r] ".", ""); out("") }
        if (n_solver[r] < 3) continue
        wrap("The same, all strategies: a whole solve, and the share of it that is the strategy's: material, residual, products of the Krylov method and of multigrid's finest level.", ""); out("")
        text = "| case | element | preconditioner |"; any = "|---|---|---|"
        for (j = 1; j <= n_solver[r]; j++) { text = text " `" solver[r, j] "` |"; any = any "---:|" }
        out(text); out(any)
        for (i = 1; i <= n_solve[r]; i++) {
            split(solve[r, i], w, SUBSEP); text = "| " w[1] " | " title(w[2]) " | " w[3] " |"; several = 0
            for (j = 1; j <= n_solver[r]; j++) {
                at = r SUBSEP solve[r, i] SUBSEP solver[r, j]; several += (at, "solve") in mid
                text = text ((at, "solve") in mid ? " " digits(mid[at, "solve"]) ", " sprintf("%.0f", 100 * share[at] / mid[at, "solve"]) " % |" : " |")
            }
            if (several > 1) out(text)
        }
        out("")
        out("![Where the time of a Newton iteration goes](" up folder[r] "/breakdown-cuda.svg)"); out("")
    }
}

# PETSc beside whole solves, on the same cores.
function peers(    r, i, j, w, at) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "peers") in has_word)) continue
        out_solves_of(r, "")
        out("| case | element | DoF | solver | preconditioner | iterations | preconditioner's set-up | solve | both |")
        out("|---|---|---:|---|---|---:|---:|---:|---:|")
        for (i = 1; i <= n_solve[r]; i++) {
            split(solve[r, i], w, SUBSEP)
            for (j = 1; j <= n_solver[r]; j++) {
                at = r SUBSEP solve[r, i] SUBSEP solver[r, j]
                if (!((at, "solve") in mid)) continue
                out("| " w[1] " | " title(w[2]) " | " solve_dof[r, solve[r, i]] " | `" solver[r, j] "` | " w[3] " | " krylov[at] " | " interval_of_several(at SUBSEP "precondition_setup") \
                    " | " interval(at SUBSEP "solve") " | " digits(mid[at, "precondition_setup"] + mid[at, "solve"]) " |")
            }
        }
        return
    }
    out("No current run has solves of PETSc.")
}

function bracket(    r, f, k) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "bracket") in has_word)) continue
        out("| mesh | run | largest equivalent plastic strain, step 7 | step 8 | `tip`: u_y, step 7, mm | step 8 | Newton iterations | Krylov iterations |")
        out("|---|---|---:|---:|---:|---:|---:|---:|")
        for (k = 1; k <= 2; k++) {
            f = "bracket-" elements[k] ".json"
            out("| " title(elements[k]) " | [" short(r) ", " commit[r] "](" up folder[r] "/" f ") | " sprintf("%.4f", bracket_peeq[r, f, 7]) " | " sprintf("%.4f", bracket_peeq[r, f, 8]) \
                " | " sprintf("%.3f | %.3f", bracket_tip[r, f, 7], bracket_tip[r, f, 8]) \
                " | " bracket_newton[r, f] " | " bracket_krylov[r, f] " |")
        }
        return
    }
    out("No current run holds the bracket.")
}
# Products after which a strategy's set-up is repaid against element_atomic: results/break_even.awk.
function repaid(r, b, e, v, op,    o, d, at, base, point, more) {
    o = main_order(r, b, e); d = largest[r, b, e, o]; point = 1e3 * (b == "host" ? 1e-6 : 1e-9) * d
    at = row(r, b, e, v, op); base = row(r, b, e, "element_atomic", op)
    if (v == "element_atomic" || !(at in mid) || !(base in mid)) return ""
    if (v ~ /^assembled_/ && (!(row(r, b, e, v, "material") in mid) || !(row(r, b, e, "element_atomic", "material") in mid))) return ""
    more = more_setup(v, setup[r, b, e, o, d, v], v ~ /^assembled_/ ? point / mid[row(r, b, e, v, "material")] : 0, "element_atomic", \
        setup[r, b, e, o, d, "element_atomic"], v ~ /^assembled_/ ? point / mid[row(r, b, e, "element_atomic", "material")] : 0)
    return break_even(more, point / mid[base] - point / mid[at])
}
# One strategy on all current machines, or two that share a folder.
function variant_table(list,    r, b, k, e, p, n, v, i, o, text, backends) {
    n = split(list, v, " "); split("cuda host", backends, " ")
    out("| machine | element | strategy | `residual` | `jacvec_elastic` | `jacvec` | `diagonal` | own B/DoF | set-up, ms | break-even, elastic | tangents |"); out("|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for (r = 1; r <= n_run; r++) for (k = 1; k <= 2; k++) {
        b = backends[k]
        if (!((r, "kernels") in has_word) || !((r, b) in has_backend)) continue
        for (e = 1; e <= 2; e++) for (i = 1; i <= n; i++) {
            if (!((r, b, v[i]) in present)) continue # newer than the run
            if (b == "host" && state[row(r, b, elements[e], v[i], "jacvec")] == "") continue # a budget may leave hosts out
            o = main_order(r, b, elements[e]); shown_order[o] = 1
            text = "| [" place(r, b) "](" up folder[r] "/table.md), " size_text(largest[r, b, elements[e], o]) " | " title(elements[e]) " | `" v[i] "`"
            for (p = 1; p <= n_op; p++) if (ops[p] != "material") text = text " | " cell(row(r, b, elements[e], v[i], ops[p]))
            if (state[row(r, b, elements[e], v[i], "jacvec")] == "") need(row(r, b, elements[e], v[i], "jacvec"))
            out(text " | " sprintf("%.0f", own[r, b, elements[e], o, largest[r, b, elements[e], o], v[i]]) " | " digits(setup[r, b, elements[e], o, largest[r, b, elements[e], o], v[i]]) " | " \
                repaid(r, b, elements[e], v[i], "jacvec_elastic") " | " repaid(r, b, elements[e], v[i], "jacvec") " |")
        }
    }
    out("")
    wrap("GDoF/s on GPUs, MDoF/s on hosts: medians with 95 % intervals, all elements plastic, " order_words() ", the largest size of it. The first column links to the run's table. Break-even: products after which the set-up is repaid against `element_atomic`, of matrices with one assembly; empty: never.", "")
}
function profile_table(prefix,    r, i, w, c, n, before) {
    before = new
    for (r = 1; r <= n_run; r++) {
        if (!((r, "profile") in has_word)) continue
        out("| kernel | µs | registers | spilled accesses per thread | shared memory per block, B | warps active | memory, B/DoF | FP64, flop/DoF | atomic lanes/DoF |"); out("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
        for (i = 1; i <= n_profile[r]; i++) {
            split(profile[r, i], w, SUBSEP)
            if (index(w[2], prefix) != 1) continue
            split(w[2], c, / *\| */); sub(/`.*/, "", c[1])
            n++
            out("| `" c[1] "`" (c[1] ~ /_(hex8|tet4)$/ ? "" : ", " title(w[1])) " | " c[2] " | " c[3] " | " c[4] " | " c[5] " | " c[7] " | " c[8] " | " c[10] " | " c[11] " |")
        }
        out("")
        wrap("Nsight Compute on an " short(r) ", " size_text(profile_dofs[r]) " degrees of freedom, " (profile_order[r] == "lexicographic" ? "lexicographic order" : "order `" profile_order[r] "`") ", commit " commit[r] " ([all kernels](" up folder[r] "/profile.md)).", "")
    }
    if (!n) { new = before; out("No current run has a profile of these kernels.") }
}
function prices(    r, e, p, b, k, best, steady, text, backends, at) {
    out("| machine | element | operation | fastest | share of `element_only` | reproducible | its share of the fastest |"); out("|---|---|---|---|---:|---|---:|")
    split("cuda host", backends, " ")
    for (r = 1; r <= n_run; r++) for (k = 1; k <= 2; k++) {
        b = backends[k]
        if (!((r, "kernels") in has_word) || !((r, b) in has_backend)) continue
        for (e = 1; e <= 2; e++) for (p = 1; p <= n_op; p++) {
            if (ops[p] == "material") continue
            best = fastest(r, b, elements[e], ops[p], "", "", 0)
            if (best == "") continue
            text = names(best, b) " " interval(row(r, b, elements[e], best, ops[p]))
            at = row(r, b, elements[e], "element_only", ops[p])
            steady = fastest(r, b, elements[e], ops[p], "", "", 1)
            out("| [" place(r, b) "](" up folder[r] "/table.md), " size_text(largest[r, b, elements[e], main_order(r, b, elements[e])]) " | " title(elements[e]) " | `" ops[p] "` | " text " | " (state[at] == "ok" ? ratio(row(r, b, elements[e], best, ops[p]), at) : "") \
                " | " (steady == "" ? "" : "`" steady "`") " | " (steady == "" ? "" : steady == best ? "1" : ratio(row(r, b, elements[e], steady, ops[p]), row(r, b, elements[e], best, ops[p]))) " |")
        }
    }
}
# A line of a table, if the run has the strategy.
function out_line(name, text) { if (text ~ /[^ |]/) out("| `" name "` |" text) }
function over_sizes(    r, e, o, b, i, k, n, list, text, v, any) {
    b = "cuda"
    for (r = 1; r <= n_run; r++) {
        if (!((r, "sizes") in has_word)) continue
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
            o = main_order(r, b, elements[e]); n = n_size[r, b, elements[e], o]
            if (n < 2) fault(folder[r] " proves 'sizes', but kernels.csv has one size of " elements[e] " on " b)
            sizes_of(r, b, elements[e], o, list)
            out(""); wrap(title(elements[e]) ", `" ops[p] "`, GDoF/s on an " short(r) ", order `" o "`, commit " commit[r] " (" table_link(r) "):", ""); out("")
            text = "| strategy |"
            for (i = 1; i <= n; i++) {
                k = repetitions[row(r, b, elements[e], variant[1], ops[p], o, list[i])]
                text = text " " size_text(list[i]) " (" cells[r, b, elements[e], list[i]] " cells a side)" (k < 6 ? ", range of " k " samples" : "") " |"
            }
            out(text); text = "|---|"; for (i = 1; i <= n; i++) text = text "---:|"
            out(text)
            for (v = 1; v <= n_variant + 1; v++) {
                text = ""
                for (i = 1; i <= n; i++) text = text " " cell(row(r, b, elements[e], any_name(v), ops[p], o, list[i])) " |"
                out_line(any_name(v), text)
            }
        }
        any = 1
    }
    if (!any) out("No current run holds several sizes.")
}
function over_orders(    r, e, o, b, i, n, list, text, v, d, any, p) {
    b = "cuda"; n = split("auto lexicographic bisection rcm morton random", list, " ")
    for (r = 1; r <= n_run; r++) {
        if (!((r, "orders") in has_word)) continue
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
            d = 0
            for (i = 2; i <= n; i++) if (largest[r, b, elements[e], list[i]] + 0 > d) d = largest[r, b, elements[e], list[i]]
            if (!d) fault(folder[r] " proves 'orders', but kernels.csv has one order of " elements[e] " on " b)
            out(""); out(title(elements[e]) ", `" ops[p] "`, " size_text(d) " degrees of freedom, GDoF/s on an " short(r) ":"); out("")
            text = "| strategy |"; for (i = 1; i <= n; i++) if ((r, b, elements[e], list[i], d) in has_size) text = text " " list[i] " |"
            out(text); text = "|---|"; for (i = 1; i <= n; i++) if ((r, b, elements[e], list[i], d) in has_size) text = text "---:|"
            out(text)
            for (v = 1; v <= n_variant + 1; v++) {
                text = ""
                for (i = 1; i <= n; i++) if ((r, b, elements[e], list[i], d) in has_size) text = text " " cell(row(r, b, elements[e], any_name(v), ops[p], list[i], d)) " |"
                out_line(any_name(v), text)
            }
        }
        any = 1
    }
    if (!any) out("No current run holds several orders.")
}
function product(r, b, e, m, d, v, p, precision) {
    return "product" SUBSEP r SUBSEP b SUBSEP e SUBSEP m SUBSEP d SUBSEP v SUBSEP p SUBSEP (precision == "" ? "double" : precision)
}
function quotient(a, b) { return state[a] == "ok" && state[b] == "ok" ? ratio(a, b) : "" }
function any_name(i) { return i > n_variant ? "element_only" : variant[i] }
function unit_of(b) { return b == "host" ? "MDoF/s" : "GDoF/s" }
# Products on meshes that are no cubes: throughput, and its ratio to that on the box of nearest size.
function meshes(    r, k, e, p, b, i, j, n, v, at, box, text, rule, any, drawn, backends) {
    split("cuda host", backends, " ")
    for (r = 1; r <= n_run; r++) for (k = 1; k <= 2; k++) {
        b = backends[k]; drawn = 0
        if (!((r, "meshes") in has_word)) continue
        for (e = 1; e <= 2; e++) for (p = 3; p <= 4; p++) {
            at = r SUBSEP b SUBSEP elements[e]; n = 0
            text = "| strategy |"; rule = "|---|"; split("", box)
            for (i = 1; i <= n_mesh[at]; i++) {
                if (mesh[at, i] == "box") continue
                for (j = 1; j <= n_mesh[at]; j++)
                    if (mesh[at, j] == "box" && (!(i in box) || apart(at, i, j) < apart(at, i, box[i]))) box[i] = j
                text = text " " mesh[at, i] ", " size_text(mesh_dof[at, i]) " |" (i in box ? " of the box, " size_text(mesh_dof[at, box[i]]) " |" : "")
                rule = rule "---:|" (i in box ? "---:|" : ""); n++
            }
            if (!n) continue
            if (!drawn) {
                drawn = any = 1
                if (n_mesh[r, b, "tet4"] > 1 || n_mesh[r, b, "hex8"] > 1) { # otherwise there is none
                    out(""); out("![Tangent products on all meshes](" up folder[r] "/meshes-" b ".svg)")
                }
            }
            out(""); wrap(title(elements[e]) ", `" ops[p] "`, " unit_of(b) " on " (b == "host" ? "the " place(r, b) : "an " place(r, b)) ", order `auto`, commit " commit[r] " (" table_link(r) "):", ""); out("")
            out(text); out(rule)
            for (v = 1; v <= n_variant + 1; v++) {
                text = ""
                for (i = 1; i <= n_mesh[at]; i++) {
                    if (mesh[at, i] == "box") continue
                    j = product(r, b, elements[e], mesh[at, i], mesh_dof[at, i], any_name(v), ops[p])
                    text = text " " cell(j) " |"
                    if (i in box) text = text " " quotient(j, product(r, b, elements[e], "box", mesh_dof[at, box[i]], any_name(v), ops[p])) " |"
                }
                out_line(any_name(v), text)
            }
        }
    }
    if (!any) out("No current run holds meshes that are no cubes.")
}
# How far the sizes of two meshes are apart.
function apart(at, i, j,    x) { x = mesh_dof[at, i] / mesh_dof[at, j]; return x > 1 ? x : 1 / x }
# The cells of a line in the table of a part: products in three precisions, operations by two laws, energies.
function product_cells(part, r, b, e, m, d, v,    i, j, n, op, kind, at, text) {
    split(part == "hardening" ? "residual material" : "jacvec_elastic jacvec", op, " ")
    n = split(part == "hardening" ? "double voce" : part == "energy" ? "double" : "double mixed single", kind, " ")
    for (i = 1; i <= 2; i++) {
        for (j = 1; j <= n; j++) {
            at = product(r, b, e, m, d, v, op[i], kind[j])
            text = text " " (part != "energy" ? cell(at) : at in energy ? digits(energy[at]) : "") " |"
        }
        for (j = 2; j <= n; j++) text = text " " quotient(product(r, b, e, m, d, v, op[i], kind[j]), product(r, b, e, m, d, v, op[i])) " |"
    }
    return text
}
# What a table of a part is of.
function product_about(part, r, b,    place_of, link) {
    place_of = (b == "host" ? "the " place(r, b) : "an " short(r))
    link = part == "hardening" ? table_link(r) : "[rows](" up folder[r] "/kernels.csv)"
    return (part == "energy" ? toupper(substr(place_of, 1, 1)) substr(place_of, 2) : unit_of(b) " on " place_of) ", order `auto`, commit " commit[r] " (" link ")" \
        (lacks[r] == "" ? ":" : "; of this run " and_list(lacks[r]) " were not kept:")
}
# Products in three precisions, by two laws of hardening, or their energy, on all meshes of runs that prove the part; an
# empty cell: no row.
function product_tables(part, head, rule, none,    r, k, b, e, v, m, backends, at, any, begun, text, compares) {
    split("cuda host", backends, " ")
    for (r = 1; r <= n_run; r++) for (k = 1; k <= 2; k++) {
        b = backends[k]; begun = compares = 0
        if (!((r, part) in has_word)) continue
        for (e = 1; e <= 2; e++) for (m = 1; m <= n_mesh[r, b, elements[e]]; m++) for (v = 1; v <= n_variant + 1; v++) {
            at = r SUBSEP b SUBSEP elements[e]
            if (!((part, at, mesh[at, m], mesh_dof[at, m], any_name(v)) in is_shown)) continue
            if (!begun) {
                begun = 1
                if (any) out("")
                any = 1
                wrap(product_about(part, r, b), ""); out(""); out("| element | mesh, DoF | strategy |" head); out("|---|---|---|" rule)
            }
            text = product_cells(part, r, b, elements[e], mesh[at, m], mesh_dof[at, m], any_name(v))
            if (state[product(r, b, elements[e], mesh[at, m], mesh_dof[at, m], any_name(v), ops[4])] == "ok") compares = 1
            out("| " title(elements[e]) " | " mesh[at, m] ", " size_text(mesh_dof[at, m]) " | `" any_name(v) "` |" text)
        }
        # the figure needs double precision beside the others
        if (part == "precision" && compares && lacks[r] == "") { out(""); out("![Products in each precision](" up folder[r] "/precisions-" b ".svg)") }
    }
    if (!any) out("No current run holds " none ".")
}
function precisions() {
    product_tables("precision", " `jacvec_elastic` double | mixed | single | mixed / double | single / double | `jacvec` double | mixed | single | mixed / double | single / double |", \
        "---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|", "several precisions")
}
function hardenings() {
    product_tables("hardening", " `residual` linear | Voce | Voce / linear | `material` linear | Voce | Voce / linear |", "---:|---:|---:|---:|---:|---:|", "two laws of hardening")
}
function energies() { product_tables("energy", " `jacvec_elastic`, nJ/DoF | `jacvec`, nJ/DoF |", "---:|---:|", "energies") }
function and_list(list,    w, n, i, text) {
    n = split(list, w, " ")
    for (i = 1; i <= n; i++) text = text (i == 1 ? "" : i == n ? " and " : ", ") "`" w[i] "`"
    return text
}
function storages(    r, e, v, s, text, at, any) {
    for (r = 1; r <= n_run; r++) {
        if (!((r, "storage") in has_word)) continue
        wrap("`jacvec`, GDoF/s on an " short(r) ", order " storage_about[r] ", commit " commit[r] " ([all operations](" up folder[r] "/storage.md)):", ""); out("")
        text = "| element | strategy |"; for (s = 1; s <= n_storage; s++) text = text " " storage[s] " |"
        out(text); text = "|---|---|"; for (s = 1; s <= n_storage; s++) text = text "---:|"
        out(text)
        for (e = 1; e <= 2; e++) for (v = 1; v <= n_variant + 1; v++) {
            at = r SUBSEP elements[e] SUBSEP (v > n_variant ? "element_only" : variant[v]) SUBSEP storage[1] SUBSEP "jacvec"
            if (!(at in mid)) continue
            text = "| " title(elements[e]) " | `" (v > n_variant ? "element_only" : variant[v]) "` |"
            for (s = 1; s <= n_storage; s++) {
                at = r SUBSEP elements[e] SUBSEP (v > n_variant ? "element_only" : variant[v]) SUBSEP storage[s] SUBSEP "jacvec"
                text = text " " (at in mid ? interval(at) : "") " |"
            }
            out(text)
        }
        any = 1
    }
    if (!any) out("No current run holds ways to store tangents.")
}
function scalings(    i, j, k, s, w, n, op, list, text, a, b, r) {
    n = split("jacvec_elastic jacvec gmres_mgs gmres_mgs_graph gmres_cgs2 gmres_cgs2_graph gmres_dcgs2 gmres_dcgs2_graph", list, " ")
    for (i = 1; i <= n_scene; i++) {
        s = scene[i]; split(s, w, SUBSEP); r = w[1]
        if (n_ranks[s] < 2 || !((s, 1) in has_ranks)) continue
        out(""); wrap("**" title(w[2]) ", " w[3] ", " (is_box(w[4]) ? "" : w[4] ", ") size_text(scene_dof[s]) " degrees of freedom" (w[3] == "weak" ? " per " scaling_of[r] : " in all") "** ([" short(r) ", commit " commit[r] "](" up folder[r] "/scaling.md))", ""); out("")
        text = "| `patch` |"; a = "|---|"
        for (j = 1; j <= n_ranks[s]; j++) { text = text " " ranks[s, j] " " scaling_of[r] (ranks[s, j] == 1 ? "" : "s") ", ms |"; a = a "---:|" }
        for (j = 1; j <= n_ranks[s]; j++) if (ranks[s, j] > 1) { text = text (w[3] == "weak" ? " efficiency on " : " speed-up on ") ranks[s, j] " |"; a = a "---:|" }
        out(text); out(a)
        for (k = 1; k <= n; k++) {
            if (!((s SUBSEP 1 SUBSEP "patch" SUBSEP list[k]) in mid)) continue
            text = "| `" list[k] "` |"
            for (j = 1; j <= n_ranks[s]; j++) { a = s SUBSEP ranks[s, j] SUBSEP "patch" SUBSEP list[k]; text = text " " (a in mid ? times(a) : "") " |" }
            b = s SUBSEP 1 SUBSEP "patch" SUBSEP list[k]
            for (j = 1; j <= n_ranks[s]; j++) if (ranks[s, j] > 1) { a = s SUBSEP ranks[s, j] SUBSEP "patch" SUBSEP list[k]; text = text " " (a in mid ? ratio(b, a) : "") " |" }
            out(text)
        }
    }
}
function times(at) { return sprintf("%.4g (%.4g–%.4g)", mid[at], low[at], high[at]) }
function largest_run() {
    if (!big_run) fault("no run of results/current.csv proves 'largest'")
    wrap("The largest solve so far: " sprintf("%.1f", 3 * big_n / 1e6) " M degrees of freedom (" big_nodes "), one load step on four " short(big_run) ", " big_newton " Newton and " big_krylov \
        " CG iterations in " sprintf("%.0f", big_s) " s, commit " commit[big_run] ", `patch` ([problem](" up folder[big_run] "/box405.problem.json), [result](" up folder[big_run] "/box405.json)," \
        " [log](" up folder[big_run] "/box405.log)).", "")
}

function block(spec,    w, n) {
    n = split(spec, w, " "); new = ""
    if (w[1] == "figure") figure()
    else if (w[1] == "strategies") strategies(4)
    else if (w[1] == "strategies-about") strategies_about()
    else if (w[1] == "order-range") finding_order()
    else if (w[1] == "runs") runs()
    else if (w[1] == "machines") machines()
    else if (w[1] == "work") work_model()
    else if (w[1] == "checks") checks()
    else if (w[1] == "validation") validation()
    else if (w[1] == "bracket") bracket()
    else if (w[1] == "anderson") anderson()
    else if (w[1] == "orthogonality") orthogonality()
    else if (w[1] == "solves") solves()
    else if (w[1] == "peers") peers()
    else if (w[1] == "variant") variant_table(substr(spec, 9))
    else if (w[1] == "profile") profile_table(substr(spec, 9))
    else if (w[1] == "baseline") baseline()
    else if (w[1] == "fastest") fastest_table()
    else if (w[1] == "prices") prices()
    else if (w[1] == "sizes") over_sizes()
    else if (w[1] == "orders") over_orders()
    else if (w[1] == "storage") storages()
    else if (w[1] == "meshes") meshes()
    else if (w[1] == "precision") precisions()
    else if (w[1] == "hardening") hardenings()
    else if (w[1] == "energy") energies()
    else if (w[1] == "scaling") scalings()
    else if (w[1] == "largest") largest_run()
    else fault("there is no generated part '" spec "'")
    return new
}
# CARD ELEMENT VARIANT[/VARIANT] OPERATION [ORDER]: throughput, or a ratio of two in the same run
function number(spec,    w, n, r, v, b, found, d) {
    n = split(spec, w, " "); b = w[1] == "host" ? "host" : "cuda"
    for (r = 1; r <= n_run; r++) if ((r, "kernels") in has_word && (r, b) in has_backend && (b == "host" || tolower(short(r)) == w[1])) { found = r; break }
    if (!found) fault("'" spec "': no current run with 'kernels' is of " w[1])
    if (split(w[3], v, "/") == 2) return ratio(need(row(found, b, w[2], v[1], w[4], w[5])), need(row(found, b, w[2], v[2], w[4], w[5])))
    return interval(need(row(found, b, w[2], w[3], w[4], w[5])))
}
function inline(line,    head, spec, rest, p, done) {
    while ((p = index(line, "<!--n:")) > 0) {
        head = substr(line, 1, p + 5); rest = substr(line, p + 6)
        if (substr(head, p - 1, 1) == "`") { done = done head; line = rest; continue } # about markers, not one
        spec = substr(rest, 1, index(rest, "-->") - 1); rest = substr(rest, index(rest, "-->") + 3)
        p = index(rest, "<!--/n-->")
        if (!p) fault("'<!--n:" spec "-->' has no '<!--/n-->' in its line")
        value = number(spec)
        if (value != substr(rest, 1, p - 1)) complain("number '" spec "'")
        done = done head spec "-->" value "<!--/n-->"; line = substr(rest, p + 9)
    }
    return done line
}
function complain(what,    part) {
    if (!check || split(document, part, "/") == 3 && part[1] == "variants" && !(part[2] in measured)) return
    print document ": " what " is not what the rows say: make tables" >"/dev/stderr"
    stale = 1
}

# --- the document ---------------------------------------------------------------------------------------------
file != "document" { next }
inside && /^<!-- end -->$/ {
    made = block(inside)
    if (made != old) complain("part '" inside "'")
    printf "%s%s\n", made, $0
    inside = ""
    next
}
inside { old = old $0 "\n"; next }
/^<!-- rows: .* -->$/ { inside = $0; sub(/^<!-- rows: */, "", inside); sub(/ *-->$/, "", inside); old = ""; print; next }
{ print inline($0) }
END {
    if (!failed && inside) { print "results/tables.sh: " document ": part '" inside "' has no <!-- end -->" >"/dev/stderr"; failed = 1 }
    exit failed || stale
}
