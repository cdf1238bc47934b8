#!/bin/sh
# No goal of make changes what another one has to build, and -n leaves everything as it was. Prints TAP.
#   sh tests/goals.sh       from the root of the repository
set -u
export LC_ALL=C
unset MAKEFLAGS MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
n=0
check() { # NAME COMMAND...: the command succeeds
    name=$1
    shift
    n=$((n + 1))
    if "$@" >"$work/log" 2>&1; then echo "ok $n - $name"; else echo "not ok $n - $name" && tail -n 20 "$work/log" | sed 's/^/# /'; fi
}
# A build of one small file stands for all: every object depends on the same flags.
object=$work/build/obj/common/base/fe.c.o
run() { make --no-print-directory BUILD="$work/build" CUDA=no "$@"; }
# What was built, with dates, and all results: an `all` or a sweep that ran would have changed them.
state() { { find results -type f; cat "$work/built"; } | xargs stat -c '%y %s %n'; }
unchanged() { state >"$work/after" 2>&1; diff "$work/before" "$work/after" && run -q "$object"; }
leaves() { run "$@" && unchanged; }

check 'one object is built' run "$object" "$work/build/commit"
find "$work/build" -type f >"$work/built"
state >"$work/before"
check 'it is up to date' unchanged
check 'make help' leaves help
for goal in $(sed -n 's/^\.PHONY: //p' Makefile); do
    case $goal in
    # They build in folders of their own, where each would look for all libraries.
    FORCE) ;;
    faults | fuzz | sanitize | sanitize-threads | storage | forms) check "make -n $goal" leaves -n "$goal" MAKE=true ;;
    *) check "make -n $goal" leaves -n "$goal" ;;
    esac
done
check 'make -n with other flags' leaves -n OPT=-O0
check 'make -n with other libraries' leaves -n CPPFLAGS=-DOTHER
other_flags() { ! run -q "$object" OPT=-O0 && unchanged; }
check 'other flags are to be built' other_flags

# What a document tells to build with other flags leaves the programs of build/ as they are.
own_folders() { ! grep -n '^make .*\(OPT\|ARCH\|SANITIZE\|STORAGE\|CC\|FLAGS\)=' README.md docs/*.md | grep -v BUILD=; }
check 'documents: a build with other flags has a folder of its own' own_folders

# --- the commit ---------------------------------------------------------------------------------------------
distrusted() { GIT_TEST_ASSUME_DIFFERENT_OWNER=1 run "$@" 2>&1; }
said() { distrusted info | grep '^commit .*safe.directory' && distrusted "$work/build/commit" | grep '^warning: .*safe.directory'; }
said_once() { ! distrusted "$work/build/commit" | grep '^warning'; }
trusted() { run info >"$work/info" && ! grep '^commit ' "$work/info"; }
if GIT_TEST_ASSUME_DIFFERENT_OWNER=1 git describe --always 2>&1 | grep -q safe.directory; then
    check 'a folder of another owner: why the commit is unknown' said
    check 'the build says it once' said_once
    check 'otherwise there is nothing to say' trusted
else
    for title in 'why the commit is unknown' 'the build says it once' 'otherwise there is nothing to say'; do
        n=$((n + 1)) && echo '# skipped: owners of folders: this git does not ask for them here, or there is no repository'
        echo "ok $n - $title # SKIP"
    done
fi
echo "1..$n"
