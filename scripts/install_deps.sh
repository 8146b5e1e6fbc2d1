#!/usr/bin/env bash
# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
#
# Installs the Debian 12 packages that are missing, as root or through sudo; without any missing it does nothing.
#   scripts/install_deps.sh          what building and running takes
#   scripts/install_deps.sh --test   and what scripts/test.sh takes besides
set -euo pipefail

packages=(
  bazel-bootstrap g++ git
  openmpi-bin libopenmpi-dev
  libopenblas-dev libcli11-dev libfmt-dev libspdlog-dev nlohmann-json3-dev
)
case "${1-}" in
  "") ;;
  --test) packages+=(libgtest-dev clang-format clang-tidy python3 python3-numpy python3-scipy
    python3-jsonschema python3-matplotlib) ;;
  *)
    echo "usage: $0 [--test]" >&2
    exit 2
    ;;
esac

if ! command -v apt-get >/dev/null; then
  echo "$0: no apt-get here. Install what these Debian packages hold: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [ "$state" != installed ]; then missing+=("$package"); fi
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "$0: neither root nor sudo. As root: apt-get install --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
