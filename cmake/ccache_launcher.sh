#!/bin/sh
# Compiler launcher: ccache_launcher.sh SOURCE_DIR CCACHE COMPILER ARGUMENTS...
#
# Shares results between checkouts. A precompiled header is always compiled, because it contains the
# paths and times of its headers: one from another checkout would define everything twice. A checksum
# of its contents is written for ccache, so that the files that use it are still shared.
source_dir=$1
ccache=$2
shift 2
case " $* " in
  *" -x c++-header "*)
    "$@" || exit
    output=
    previous=
    for argument in "$@"; do
      [ "$previous" != -o ] || output=$argument
      previous=$argument
    done
    "$@" -E -P -o - 2>/dev/null | sha256sum > "$output.sum"
    ;;
  *)
    CCACHE_BASEDIR=$source_dir CCACHE_NOHASHDIR=1 CCACHE_PCH_EXTSUM=1 \
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime \
      exec "$ccache" "$@"
    ;;
esac
