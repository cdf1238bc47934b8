#!/bin/sh
# Who calls whom, by the names that compiled files define and use.
#   tests/calls.sh [ROOT]          fails if files or folders call each other in a circle, and names the circle
#   tests/calls.sh --graph [ROOT]  prints the edges between folders, each with its number of names
# The compiled files are those of $FE_BUILD (build). Files of one strategy may call each other. The registry of
# strategies (common/variant.c) has a line for each, which is no call.
here=$(cd "$(dirname "$0")" && pwd)
graph=0
[ "$1" != --graph ] || { graph=1 && shift; }
cd "${1:-.}" || exit 2
objects=${FE_BUILD:-build}/obj
edges=$(mktemp) || exit 2
trap 'rm -f "$edges"' EXIT
find "$objects" -name '*.o' ! -path "$objects/tests/*" | sort | while read -r object; do
    source=$(echo "${object#"$objects"/}" | sed 's/\.o$//; s/\.mixed$//; s/\.single$//')
    [ ! -f "$source" ] || nm -g "$object" | sed "s|^|$source |"
done | awk '
$(NF - 1) == "U" { if (!(($1, $NF) in used)) { used[$1, $NF]; file[++n] = $1; name[n] = $NF } next }
$(NF - 1) ~ /^[TDRBC]$/ { home[$NF] = $1 }
END {
    for (i = 1; i <= n; i++) {
        to = home[name[i]]
        if (to == "" || to == file[i] || (file[i] == "common/variant.c" && to ~ /^variants\//)) continue
        printf "%s\t%s\t%s uses %s of %s\n", file[i], to, file[i], name[i], to
    }
}' >"$edges"
grep -v '^variants/' "$edges" |
    awk -v title='files call each other' -v what=calls -v least=2 -f "$here/circle.awk" || exit $?
sed 's|^\([^\t]*\)/[^/\t]*\t\([^\t]*\)/[^/\t]*\t|\1\t\2\t|' "$edges" |
    awk -v graph=$graph -v title='folders call each other' -v what=calls -v least=2 -f "$here/circle.awk"
