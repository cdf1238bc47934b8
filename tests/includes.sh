#!/bin/sh
# The graph of folders: it has an edge from folder A to folder B if a file of A includes a file of B.
#   tests/includes.sh [ROOT]          fails if folders include each other in a circle, and names the circle
#   tests/includes.sh --graph [ROOT]  prints the edges, each with its number of includes
graph=0
[ "$1" != --graph ] || { graph=1 && shift; }
cd "${1:-.}" || exit 2
find . -name '.?*' -prune -o -name build -prune -o -name 'build-*' -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cc' -o -name '*.def' \) -print |
    sed 's|^\./||' | sort | awk -v graph=$graph '
function folder(path)
{
    return path ~ "/" ? substr(path, 1, match(path, "/[^/]*$") - 1) : "."
}
# Follows all edges from a folder; a folder that is met again on the way closes a circle.
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
            print "folders include each other:"
            for (k = start; k <= depth; k++)
                printf "  %s -> %s (%s)\n", path[k], path[k + 1], example[path[k], path[k + 1]]
        } else if (state[to[i]] == "") {
            visit(to[i], depth + 1)
        }
    }
    state[at] = "done"
}
{
    file = $0
    while ((getline line < file) > 0) {
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"[^"]*\/[^"]*"/) continue
        n_include++
        split(line, part, "\"")
        from = folder(file)
        to = folder(part[2])
        if (from == to) continue
        if (!((from, to) in count)) {
            edges[from] = edges[from] " " to
            example[from, to] = file " includes " part[2]
            order[++n_edge] = from SUBSEP to
        }
        count[from, to]++
    }
    close(file)
}
END {
    if (n_include < 10) {
        print "only " n_include + 0 " includes were found"
        exit 2
    }
    for (i = 1; i <= n_edge; i++) {
        split(order[i], edge, SUBSEP)
        if (graph) printf "%s -> %s %d\n", edge[1], edge[2], count[edge[1], edge[2]]
        if (state[edge[1]] == "" && !circle) visit(edge[1], 1)
    }
    exit circle
}'
