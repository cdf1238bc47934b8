#!/bin/sh
# Rewrites the generated parts of all Markdown files from the rows of the runs in results/current.csv.
#   sh results/tables.sh            rewrites
#   sh results/tables.sh --check    changes nothing; exit 1 where a part is not what the rows say, and names it
#
# results/README.md ("Generated text") says how the parts are marked, and which words a run may prove.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/.."
check=
case "$*" in
--check) check=1 ;;
'') ;;
*) echo "usage: sh results/tables.sh [--check]" >&2; exit 2 ;;
esac

# Files that a run needs for each word of its column "proves".
files_of() {
    case $1 in
    kernels | sizes | orders | meshes | precision | hardening) echo kernels.csv samples.csv machine.csv table.md ;;
    energy) echo kernels.csv table.md ;;
    storage) echo storage.csv storage.md ;;
    anderson) echo anderson.csv anderson-history.csv anderson-host.svg ;;
    orthogonality) echo orthogonality.csv orthogonality-host.svg ;;
    profile) echo profile.md ;;
    tests) echo checks.txt ;;
    validation) echo validation.md machine.csv ;;
    solves | peers) echo solves.csv solves.md ;;
    scaling) echo scaling.csv scaling.md topology.txt ;;
    hosts) echo two-hosts.txt topology.txt ;;
    bracket) echo bracket-hex8.json bracket-tet4.json ;;
    largest) echo box405.problem.json box405.json box405.log topology.txt ;;
    *) return 1 ;;
    esac
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fault() { echo "results/tables.sh: $*" >&2; exit 1; }
inputs= n=0 headline=
while IFS=, read -r machine folder commit proves lacks; do
    [ "$machine" != machine ] || continue
    n=$((n + 1)) path=results/$machine/$folder
    [ -d "$path" ] || fault "results/current.csv: there is no folder $path"
    for word in $proves; do
        files=$(files_of "$word") || fault "results/current.csv: $path proves '$word', which is not known"
        [ "$word" != kernels ] || headline=$n
        # optional: what a budget left out of whole solves
        [ "$word" != solves ] || [ ! -s "$path/left-out.txt" ] || inputs="$inputs run=$n file=left-out.txt $path/left-out.txt"
        for file in $files; do
            case " $lacks " in
            *" $file "*)
                [ ! -e "$path/$file" ] || fault "results/current.csv: $path has the $file that it lacks"
                continue
                ;;
            esac
            [ -s "$path/$file" ] || fault "$path proves '$word', but $file is not there"
            case " $inputs " in *" $path/$file "*) continue ;; esac
            case $file in
            kernels.csv | storage.csv | solves.csv | anderson.csv | orthogonality.csv | scaling.csv | machine.csv | profile.md | validation.md | box405.log)
                inputs="$inputs run=$n file=$file $path/$file" ;;
            bracket-*.json) inputs="$inputs run=$n file=$file $path/$file" ;;
            esac
        done
    done
done <results/current.csv
[ "$headline" ] || fault "results/current.csv: no run proves 'kernels'"

status=0
for document in $(grep -lE '<!-- rows:|<!--n:' README.md docs/*.md results/README.md variants/*/*.md meshgen/*/*.md \
    tests/*/*.md 2>/dev/null); do
    up=$(echo "$document" | sed 's,[^/]*$,,; s,[^/]*/,../,g')
    # shellcheck disable=SC2086
    awk -v document="$document" -v up="$up" -v check="$check" -f results/csv.awk -f results/break_even.awk -f results/scaling_case.awk -f results/tables.awk \
        run=0 file=variants variants/variants.def file=current results/current.csv $inputs \
        run=0 file=document "$document" >"$work/new" || status=1
    [ -z "$check" ] || continue
    [ $status = 0 ] || exit 1
    cmp -s "$work/new" "$document" || { cat "$work/new" >"$document"; echo "$document"; }
done
exit $status
