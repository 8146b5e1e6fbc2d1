#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# Packs what programs built here need on a machine that has CUDA and NCCL, but no OpenMPI and no OpenBLAS.
#   scripts/pack_runtime.sh runtime.tar.xz PROGRAM...
# There, whatever folder it was unpacked to:
#   FOLDER/mpirun -n 4 PROGRAM
# The C and C++ libraries stay behind: the other machine's must be as new as this one's. So do CUDA's.
set -euo pipefail

if [ $# -lt 2 ]; then
  echo "usage: $0 FILE.tar.xz PROGRAM..." >&2
  exit 2
fi
file=$1
shift
for tool in mpirun orted ldd xz; do
  command -v $tool >/dev/null || { echo "$0: $tool is missing" >&2; exit 1; }
done

# Debian's layout below its prefix, so that OPAL_PREFIX moves all of it at once.
libraries=/usr/lib/x86_64-linux-gnu
plugins=$libraries/openmpi/lib/openmpi3
pmix=$libraries/pmix2
[ -d $plugins ] || { echo "$0: expected Debian's OpenMPI in $plugins" >&2; exit 1; }

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/lib" "$folder/etc" "$folder/share" "$folder${plugins#/usr}" "$folder${pmix#/usr}/lib/pmix"

stays='/(ld-linux.*|libc|libm|libdl|libpthread|librt|libutil|libresolv|libstdc\+\+|libgcc_s|libcuda.*|libcublas.*|libnccl.*)\.so'

# Copies the libraries behind a file; fails if this machine lacks one of them.
take_needs() {
  local found library
  found=$(ldd "$1")
  if grep -q 'not found' <<<"$found"; then
    # CUDA's may be anywhere on the other machine.
    if grep 'not found' <<<"$found" | sed 's|^|/|; s|[[:space:]]||g' | grep -qvE "$stays"; then return 1; fi
  fi
  while read -r library; do
    [[ $library =~ $stays ]] || cp -nL "$library" "$folder/lib/"
  done < <(awk '$3 ~ "^/" { print $3 }' <<<"$found")
}

cp -L "$(command -v mpirun)" "$folder/bin/mpirun"
cp -L "$(command -v orted)" "$folder/bin/orted"
for program in "$folder/bin/mpirun" "$folder/bin/orted" "$@"; do
  take_needs "$program" || { echo "$0: $program needs a library that is not here: $(ldd "$program" | grep 'not found')" >&2; exit 1; }
done
# Drivers of network cards and of other resource managers are for clusters, which have an MPI of their own.
for plugin in "$plugins"/*.so "$pmix"/lib/pmix/*.so; do
  case ${plugin##*/} in
    *ucx* | *ofi* | *openib* | *usnic* | *psm* | *portals* | *monitoring* | mca_spml_* | mca_scoll_* | mca_memheap_* | mca_sshmem_*) continue ;;
  esac
  if take_needs "$plugin"; then cp -L "$plugin" "$folder${plugin#/usr}"; fi
done
cp -r /usr/share/openmpi "$folder/share/"
cp -rL /etc/openmpi "$folder/etc/"
if [ -d $pmix/share ]; then cp -r $pmix/share "$folder${pmix#/usr}/"; fi

cat >"$folder/environment" <<'END'
# To be sourced with the folder in $runtime: what OpenMPI looks for is there.
pmix=$runtime/lib/x86_64-linux-gnu/pmix2
export OPAL_PREFIX="$runtime" OPAL_SYSCONFDIR="$runtime/etc/openmpi"
export PMIX_LIBDIR="$pmix/lib" PMIX_PKGLIBDIR="$pmix/lib/pmix" PMIX_DATADIR="$pmix/share" PMIX_PKGDATADIR="$pmix/share/pmix"
export PATH="$runtime/bin:$PATH" LD_LIBRARY_PATH="$runtime/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" HOME="${HOME:-/tmp}"
# Ranks are started through ssh, or on this machine alone where there is none.
command -v ssh >/dev/null || export OMPI_MCA_plm=isolated
END
cat >"$folder/mpirun" <<'END'
#!/bin/sh
runtime=$(cd "$(dirname "$0")" && pwd)
. "$runtime/environment"
exec "$runtime/bin/mpirun" "$@"
END
chmod +x "$folder/mpirun"
XZ_OPT=-6 tar -C "$folder" -cJf "$file" .
echo "$file: $(du -h "$file" | cut -f1), unpacked $(du -sh --apparent-size "$folder" | cut -f1)"
