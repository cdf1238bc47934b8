#!/bin/sh
# The graph of folders: it has an edge from folder A to folder B if a file of A includes a file of B.
#   tests/includes.sh [ROOT]          fails if folders include each other in a circle, and names the circle; or if a
#                                     folder behind one header is entered by another
#   tests/includes.sh --graph [ROOT]  prints the edges, each with its number of includes
here=$(cd "$(dirname "$0")" && pwd)
graph=0
[ "$1" != --graph ] || { graph=1 && shift; }
cd "${1:-.}" || exit 2
edges=$(mktemp) || exit 2
trap 'rm -f "$edges"' EXIT
find . -name '.?*' -prune -o -name build -prune -o -name 'build-*' -prune -o -type f \
    \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cc' -o -name '*.def' \) -print |
    sed 's|^\./||' | sort | awk '
function folder(path)
{
    return path ~ "/" ? substr(path, 1, match(path, "/[^/]*$") - 1) : "."
}
{
    file = $0
    while ((getline line < file) > 0) {
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"[^"]*\/[^"]*"/) continue
        split(line, part, "\"")
        printf "%s\t%s\t%s includes %s\n", folder(file), folder(part[2]), file, part[2]
    }
    close(file)
}' >"$edges"
awk -v graph=$graph -v title='folders include each other' -v what=includes -v least=10 -f "$here/circle.awk" "$edges" ||
    exit $?
# Behind one header, except for tests: common/multigrid.
! grep -P '^(?!tests|common/multigrid\t).*\tcommon/multigrid\t(?!.*/multigrid\.h$)' "$edges" | cut -f 3 |
    sed 's|$|: its public header is common/multigrid/multigrid.h|' | grep .
