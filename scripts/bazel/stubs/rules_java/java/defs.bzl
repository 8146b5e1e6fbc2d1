# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""The Java rules that Bazel's own tool packages load, although no Java is built here."""

java_toolchain = native.java_toolchain
java_runtime = native.java_runtime
java_import = native.java_import
