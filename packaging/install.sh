#!/bin/sh
# Installs the Debian packages that are missing: as root, or by sudo where it asks no password. Where neither
# is possible, one line names them.
#   bench/install.sh PACKAGE...
missing=
for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null; then
    echo "install what these Debian packages hold, as far as it is missing:$missing" >&2
    exit 0 # make says what it leaves out
fi
if [ "$(id -u)" -eq 0 ]; then
    root=
elif sudo -n true 2>/dev/null; then
    root="sudo -n"
else
    echo "missing packages; as root: apt-get install$missing" >&2
    exit 1
fi
echo "installing$missing"
export DEBIAN_FRONTEND=noninteractive
limits="-o Acquire::Retries=1 -o Acquire::http::Timeout=20"
$root apt-get $limits update -qq && $root apt-get $limits install -y -qq --no-install-recommends $missing >/dev/null
