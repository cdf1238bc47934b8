#!/bin/sh
# Copies what a build has compiled and what it found, so that another build goes on from it: with other libraries, or
# with a strategy more. Programs and archives are linked anew.
#   sh tests/copy_build.sh FOLDER TO [AS]      AS: what the folder was called when it was built
set -eu
from=$1 to=$2 as=${3:-$1}
rm -rf "$to"
mkdir "$to"
for kept in "$from"/*; do
    case ${kept##*/} in
    obj | have | detect) cp -a "$kept" "$to/" ;;
    *) [ -d "$kept" ] || [ -x "$kept" ] || case $kept in *.a) ;; *) cp -a "$kept" "$to/" ;; esac ;;
    esac
done
find "$to/obj" -name '*.d' -exec sed -i "s#\(^\| \)$as/#\1$to/#g" {} +
