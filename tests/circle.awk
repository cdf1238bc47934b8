# Reads edges, "FROM<tab>TO<tab>EXAMPLE" a line. Fails if they close a circle, and names it after the title; with
# graph=1 prints all edges with their numbers. least: fewer edges than this are a failure, too.
BEGIN { FS = "\t" }
# Follows all edges from a place; a place that is met again on the way closes a circle.
function visit(at, depth,    i, n, to, k, start)
{
    path[depth] = at
    state[at] = "open"
    n = split(edges[at], to, " ")
    for (i = 1; i <= n && !circle; i++) {
        if (state[to[i]] == "open") {
            circle = 1
            path[depth + 1] = to[i]
            for (start = 1; path[start] != to[i]; start++) {}
            print title ":"
            for (k = start; k <= depth; k++)
                printf "  %s -> %s (%s)\n", path[k], path[k + 1], example[path[k], path[k + 1]]
        } else if (state[to[i]] == "") {
            visit(to[i], depth + 1)
        }
    }
    state[at] = "done"
}
{
    n_line++
    if ($1 == $2) next
    if (!(($1, $2) in count)) {
        edges[$1] = edges[$1] " " $2
        example[$1, $2] = $3
        order[++n_edge] = $1 SUBSEP $2
    }
    count[$1, $2]++
}
END {
    if (n_line < least) {
        print "only " n_line + 0 " " what " were found"
        exit 2
    }
    for (i = 1; i <= n_edge; i++) {
        split(order[i], edge, SUBSEP)
        if (graph) printf "%s -> %s %d\n", edge[1], edge[2], count[edge[1], edge[2]]
        if (state[edge[1]] == "" && !circle) visit(edge[1], 1)
    }
    exit circle
}
