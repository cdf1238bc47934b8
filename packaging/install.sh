#!/bin/sh
# Installs Debian packages: as root, or by sudo where it asks no password. Where that is not possible, or fails, one
# line says what to run, and the exit code is 1.
#   packaging/install.sh PACKAGE...
[ $# -gt 0 ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "not found, by the names of Debian's packages: $*; install what holds them here" >&2
    exit 1
fi
if [ "$(id -u)" -eq 0 ]; then
    root=
elif sudo -n true 2>/dev/null; then
    root="sudo -n"
else
    echo "to install what is missing, as root: apt-get install $*" >&2
    exit 1
fi
echo "installing $*"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
limits="-o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20"
$root apt-get $limits update -qq >"$log" 2>&1 # lists that are there may do
if $root apt-get $limits install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; then
    rm -f "$log"
else
    echo "could not be installed ($log says why); as root: apt-get update && apt-get install $*" >&2
    exit 1
fi
