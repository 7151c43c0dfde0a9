#!/bin/bash
# Compiler launcher: ccache_launcher.sh SOURCE_DIR CCACHE COMPILER ARGUMENTS...
#
# Shares results between checkouts. A precompiled header is always compiled, because it contains
# the paths and times of its headers: one from another checkout would define everything twice. A
# checksum of its preprocessed text is written for ccache, so the files that use it are shared.
set -euo pipefail
source_dir=$1
ccache=$2
shift 2

if [[ " $* " != *" -x c++-header "* ]]; then
  export CCACHE_BASEDIR=$source_dir CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1
  export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
  exec "$ccache" "$@"
fi

"$@"
output=
preprocess=()
while [ $# -gt 0 ]; do
  case $1 in
    -o) output=$2 && shift ;;
    -MF | -MT | -MQ) shift ;;
    -MD | -MMD | -c) ;;
    *) preprocess+=("$1") ;;
  esac
  shift
done
"${preprocess[@]}" -E -P | sha256sum >"$output.sum"
