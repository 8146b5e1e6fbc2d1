# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""The C++ rules that are built into this Bazel, under the names that @rules_cc gives them."""

cc_toolchain = native.cc_toolchain
cc_toolchain_suite = native.cc_toolchain_suite
cc_import = native.cc_import
cc_library = native.cc_library
cc_binary = native.cc_binary
cc_test = native.cc_test
