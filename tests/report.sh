#!/bin/sh
# Tests of the Python layer (report/), by its unittest. Prints TAP.
#   FE_PYTHON=python3 sh tests/report.sh       from the root of the repository; make test finds the Python
set -u
export LC_ALL=C.UTF-8
if [ -z "${FE_PYTHON:-}" ]; then
    echo 'skipped: report: no Python with NumPy, SciPy and Jinja2 (make info)'
    echo 'ok 1 - report # SKIP'
    echo '1..1'
    exit 0
fi
exec "$FE_PYTHON" -m tests.report.tap
