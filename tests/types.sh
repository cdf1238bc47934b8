#!/bin/sh
# Types of the Python layer (report/, runner/), by mypy; mypy.ini says how strict. Prints TAP.
#   sh tests/types.sh       from the root of the repository
set -u
export LC_ALL=C.UTF-8
if ! command -v mypy >/dev/null; then
    echo 'skipped: types of report/ and runner/: there is no mypy (apt-get install mypy)'
    echo 'ok 1 - types # SKIP'
elif said=$(mypy --no-color-output --cache-dir="${FE_BUILD:-build}/mypy" 2>&1); then
    echo 'ok 1 - types'
else
    echo 'not ok 1 - types'
    printf '%s\n' "$said" | sed 's/^/# /'
fi
echo '1..1'
