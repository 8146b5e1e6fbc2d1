# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""How this project's libraries and tests are built: one list of compiler flags, one dependency rule, four macros."""

load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")
load("//scripts/bazel:launched_test.bzl", "launched_mpi_test", "launched_python_test")

# The one list. Third-party headers reach the compiler as system headers, which none of the warnings cover.
# Fused multiply-adds round once where the modes promise to round twice: no contraction.
MUONBENCH_COPTS = [
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Wold-style-cast",
    "-Werror",
    # Sees overlaps in std::string that cannot happen (GCC 12, bug 105651).
    "-Wno-restrict",
    "-ffp-contract=off",
]

# The rooms of src/ in the order in which data passes through them. A room may use those before it, none after it.
_ROOMS = [
    "base",
    "ns",
    "config",
    "model",
    "topology",
    "shard",
    "plan",
    "program",
    "exec",
    "bench",
    "report",
    "cli",
]

def rooms_after(room):
    """Visibility of a room's library: the rooms that come after it, the program and the tests.

    Args:
      room: a name of _ROOMS.
    Returns:
      a list for the attribute visibility.
    """
    later = _ROOMS[_ROOMS.index(room) + 1:]
    return ["//src/%s:__subpackages__" % name for name in later] + PROGRAM_AND_TESTS

# Who may see what nobody else may: src/BUILD, which puts the program together, and the tests.
PROGRAM_AND_TESTS = ["//src:__pkg__", "//tests:__subpackages__"]

def muonbench_library(name, srcs = [], hdrs = [], deps = [], copts = [], **kwargs):
    """A cc_library with the project's flags."""
    cc_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        copts = MUONBENCH_COPTS + copts,
        # An archive alone: programs are linked statically, so that a shared library would be built for nobody.
        linkstatic = True,
        deps = deps,
        **kwargs
    )

def muonbench_test(name, srcs, deps = [], copts = [], size = "medium", **kwargs):
    """A GoogleTest program of one process, without MPI."""
    cc_test(
        name = name,
        size = size,
        srcs = srcs,
        copts = MUONBENCH_COPTS + copts,
        deps = deps + ["@googletest"],
        **kwargs
    )

def _sanitizer_tags(count, counts):
    """One job of each test runs under sanitizers too: that of 4 ranks if there is one, else the largest."""
    sanitized = 4 if 4 in counts else sorted(counts)[-1]
    return [] if count == sanitized else ["no_sanitizer"]

def mpi_test(
        name,
        srcs = [],
        binary = None,
        ranks = [1, 2, 4],
        deps = [],
        args = [],
        tags = [],
        data = [],
        must_fail_with = "",
        size = "medium",
        **kwargs):
    """One test name_npN per rank count N: the program under mpirun, passed if every rank ends with status 0.

    Args:
      name: head of the tests' names; also a test_suite of them all.
      srcs: GoogleTest sources, linked with //tests/mpi:mpi_main, which begins and ends MPI; or
      binary: a program that exists already. It takes args.
      ranks: a count or a list of counts.
      deps: of srcs.
      args: of the program.
      tags: as for any test.
      data: files that the program reads, by their path from the workspace root.
      must_fail_with: turns the test round: passed if the job fails and its output holds this text.
      size: as for any test.
      **kwargs: handed to the test rule (env among them: a dict of strings).
    """
    if bool(srcs) == bool(binary):
        fail("%s: give either srcs or binary" % name)
    if srcs:
        binary = name + "_program"
        cc_binary(
            name = binary,
            testonly = True,
            srcs = srcs,
            copts = MUONBENCH_COPTS,
            deps = deps + ["//tests/mpi:mpi_main", "@googletest"],
        )
    counts = ranks if type(ranks) == "list" else [ranks]
    tests = []
    for count in counts:
        tests.append("%s_np%d" % (name, count))
        launched_mpi_test(
            name = tests[-1],
            size = size,
            args = args,
            data = data,
            binary = binary,
            must_fail_with = must_fail_with,
            ranks = count,
            # Ranks that wait spin: two such jobs at once would starve one another.
            tags = tags + ["cpu:%d" % count] + _sanitizer_tags(count, counts),
            **kwargs
        )
    native.test_suite(name = name, tests = tests)

def python_test(name, srcs, main = None, data = [], args = [], ranks = 1, tags = [], size = "medium", **kwargs):
    """A Python program run by Debian's /usr/bin/python3 (numpy and jsonschema are there), passed if it ends with 0.

    The environment names what it may start: MUONBENCH is the program, MPIRUN is mpirun, which needs no flag to run as
    root, with more ranks than cores, or unbound. The working folder is the workspace root, holding srcs and data.

    Args:
      name: of the test.
      srcs: Python files.
      main: which of srcs to run; the first if left out.
      data: files that it reads.
      args: of the Python program.
      ranks: how many ranks it starts at most at a time.
      tags: as for any test.
      size: as for any test.
      **kwargs: handed to the test rule (env among them: a dict of strings).
    """
    launched_python_test(
        name = name,
        size = size,
        srcs = srcs,
        main = main or srcs[0],
        args = args,
        data = data,
        tags = tags + ["cpu:%d" % ranks],
        **kwargs
    )
