# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Where a build gets what is not in this repository: from the machine it runs on, never from a network.

A library is looked for when the first target needs it. If it is missing, the build stops with its name, with what was
tried, and with the package that brings it.
"""

def offline_stubs():
    """Stands in for three repositories that Bazel 4 would download although a C++ build takes nothing from them.

    Upstream releases of Bazel name their version and bring matching repositories themselves; Debian's names none.
    """
    if native.bazel_version[:1].isdigit():
        return
    for name in ["rules_cc", "rules_java", "remote_coverage_tools"]:
        native.local_repository(name = name, path = "scripts/bazel/stubs/" + name)

def _stop(what, tried, remedy):
    fail("\n\n%s is missing.\nTried: %s.\nRemedy: %s.\n" % (what, tried, remedy))

_BUILD_HEAD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

def _compiler_path_library_impl(ctx):
    compiler = ctx.os.environ.get("CXX", "c++")
    ctx.file("try.cc", "#include <%s>\nint main() { return 0; }\n" % ctx.attr.header)
    tried = [compiler, "-std=c++20", "-fsyntax-only", "try.cc"]
    if ctx.execute(tried).return_code != 0:
        _stop(ctx.name, "#include <%s> with %s" % (ctx.attr.header, compiler), "apt-get install " + ctx.attr.package)
    if ctx.attr.linkopts:
        ctx.file("link.cc", "int main() { return 0; }\n")
        tried = [compiler, "link.cc", "-o", "link"] + ctx.attr.linkopts
        if ctx.execute(tried).return_code != 0:
            _stop(ctx.name, " ".join(tried), "apt-get install " + ctx.attr.package)
    ctx.file("BUILD", _BUILD_HEAD + """
cc_library(
    name = %r,
    defines = %r,
    linkopts = %r,
)
""" % (ctx.name, ctx.attr.defines, ctx.attr.linkopts))

_compiler_path_library = repository_rule(
    implementation = _compiler_path_library_impl,
    doc = "A library whose headers and archives lie where the compiler looks by itself.",
    attrs = {
        "header": attr.string(mandatory = True),
        "package": attr.string(mandatory = True),
        "defines": attr.string_list(),
        "linkopts": attr.string_list(),
    },
    environ = ["CXX", "PATH"],
    local = True,
)

_MPI_REMEDY = "apt-get install libopenmpi-dev openmpi-bin, or MPI_HOME=the folder above OpenMPI's bin/mpicxx"

def _openmpi_impl(ctx):
    home = ctx.os.environ.get("MPI_HOME", "")
    tools = {}
    for tool in ["mpicxx", "mpirun"]:
        tools[tool] = ctx.path("%s/bin/%s" % (home, tool)) if home else ctx.which(tool)
        if not tools[tool] or not tools[tool].exists:
            _stop("OpenMPI", "%s in %s" % (tool, home + "/bin" if home else "PATH"), _MPI_REMEDY)

    facts = {}
    for fact in ["incdirs", "libdirs", "libs"]:
        answer = ctx.execute([tools["mpicxx"], "--showme:" + fact])
        if answer.return_code != 0:
            _stop("OpenMPI", "%s --showme:%s, which another MPI may not know" % (tools["mpicxx"], fact), _MPI_REMEDY)
        facts[fact] = [word for word in answer.stdout.strip().split(" ") if word]

    headers = [folder for folder in facts["incdirs"] if ctx.path(folder + "/mpi.h").exists]
    if not headers:
        _stop("OpenMPI", "mpi.h in " + ", ".join(facts["incdirs"]), _MPI_REMEDY)
    ctx.symlink(headers[0], "include")
    linkopts = ["-L" + folder for folder in facts["libdirs"]]
    if home:
        linkopts += ["-Wl,-rpath," + folder for folder in facts["libdirs"]]

    # Without OpenMPI's C++ bindings, which MPI 3 dropped.
    linkopts += ["-l" + lib for lib in facts["libs"] if lib != "mpi_cxx"]

    # A link would not do: mpirun takes the folder that it is called from for the installation's.
    ctx.file("mpirun", "#!/bin/sh\nexec '%s' \"$@\"\n" % tools["mpirun"], executable = True)
    ctx.file("BUILD", _BUILD_HEAD + """
exports_files(["mpirun"])

cc_library(
    name = "openmpi",
    hdrs = glob(["include/**/*.h"]),
    defines = ["OMPI_SKIP_MPICXX"],
    includes = ["include"],
    linkopts = %r,
)

alias(
    name = "mpi",
    actual = ":openmpi",
)
""" % linkopts)

_openmpi = repository_rule(
    implementation = _openmpi_impl,
    environ = ["MPI_HOME", "PATH"],
    local = True,
)

def system_libraries():
    """One repository per library: @openmpi, @openblas, @cli11, @json, @fmt, @spdlog, @googletest."""
    _openmpi(name = "openmpi")
    _compiler_path_library(
        name = "openblas",
        header = "cblas.h",
        linkopts = ["-lopenblas"],
        package = "libopenblas-dev",
    )
    _compiler_path_library(name = "cli11", header = "CLI/CLI.hpp", package = "libcli11-dev")
    _compiler_path_library(name = "json", header = "nlohmann/json.hpp", package = "nlohmann-json3-dev")

    # fmt and spdlog as headers alone: src/base compiles the parts of both that are used, so that a program needs
    # neither shared library where it runs.
    _compiler_path_library(name = "fmt", header = "fmt/core.h", package = "libfmt-dev")
    _compiler_path_library(
        name = "spdlog",
        defines = ["SPDLOG_FMT_EXTERNAL"],
        header = "spdlog/spdlog.h",
        package = "libspdlog-dev",
    )
    _compiler_path_library(
        name = "googletest",
        header = "gtest/gtest.h",
        linkopts = ["-lgtest_main", "-lgtest", "-lpthread"],
        package = "libgtest-dev",
    )
