# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests that something else has to start: mpirun for a job of ranks, python3 for a script."""

# For jobs of this machine alone. Root is allowed, since containers and build machines have nobody else.
_ENVIRONMENT = """#!/bin/sh
set -u
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
# mpirun names its files by its process id, and sandboxed tests beside one another may have equal ones.
export TMPDIR="${TEST_TMPDIR:-/tmp}" OMPI_MCA_btl_vader_backing_directory="${TEST_TMPDIR:-/dev/shm}"
# Sums of floats depend on how OpenBLAS deals them to threads, and ranks are threads enough.
export OPENBLAS_NUM_THREADS=1
# Leaks of OpenMPI are told from ours by their stacks, which have to be whole for that. Read by sanitizer builds alone.
export ASAN_OPTIONS="fast_unwind_on_malloc=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export LSAN_OPTIONS="suppressions=$PWD/scripts/bazel/openmpi_leaks.txt:print_suppressions=0"
# Every rank would write the one result file of the test.
unset XML_OUTPUT_FILE
"""

_RUN = "exec %s \"$@\"\n"

# A signal must reach mpirun, so it is waited for, not piped from.
_RUN_AND_EXPECT_FAILURE = """output="$TEST_TMPDIR/output"
if %s "$@" >"$output" 2>&1; then
  cat "$output"
  echo "The job succeeded, but had to fail with: "%s
  exit 1
fi
cat "$output"
grep -qF %s "$output" || { echo "The job failed, but not with: "%s; exit 1; }
"""

def _quoted(word):
    return "'" + word.replace("'", "'\\''") + "'"

def _launcher(ctx, script, files, programs):
    """A test that runs script in a tree with files, and with programs and all that they need."""
    env = "".join(["export %s=%s\n" % (key, _quoted(value)) for key, value in ctx.attr.env.items()])
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(launcher, _ENVIRONMENT + env + script, is_executable = True)
    runfiles = ctx.runfiles(files = files + ctx.files.data + [ctx.file._leaks, ctx.executable._mpirun])
    for target in programs + ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = launcher, runfiles = runfiles)]

_COMMON = {
    "data": attr.label_list(allow_files = True),
    "env": attr.string_dict(),
    "_leaks": attr.label(default = "//scripts/bazel:openmpi_leaks.txt", allow_single_file = True),
    "_mpirun": attr.label(
        default = "@openmpi//:mpirun",
        allow_single_file = True,
        cfg = "target",
        executable = True,
    ),
}

def _launched_mpi_test_impl(ctx):
    job = "%s --oversubscribe --bind-to none -n %d %s" % (
        _quoted("./" + ctx.executable._mpirun.short_path),
        ctx.attr.ranks,
        _quoted("./" + ctx.executable.binary.short_path),
    )
    script = _RUN % job
    if ctx.attr.must_fail_with:
        text = _quoted(ctx.attr.must_fail_with)
        script = _RUN_AND_EXPECT_FAILURE % (job, text, text, text)
    return _launcher(ctx, script, [ctx.executable.binary], [ctx.attr.binary])

launched_mpi_test = rule(
    implementation = _launched_mpi_test_impl,
    attrs = dict(
        _COMMON,
        binary = attr.label(cfg = "target", executable = True, mandatory = True),
        must_fail_with = attr.string(),
        ranks = attr.int(mandatory = True),
    ),
    test = True,
)

def _launched_python_test_impl(ctx):
    script = "export MPIRUN=\"$PWD/%s\" MUONBENCH=\"$PWD/%s\"\n" % (
        ctx.executable._mpirun.short_path,
        ctx.executable.program.short_path,
    )
    script += "export PYTHONDONTWRITEBYTECODE=1\n"
    script += _RUN % ("/usr/bin/python3 " + _quoted("./" + ctx.file.main.short_path))
    return _launcher(ctx, script, ctx.files.srcs + [ctx.executable.program], [ctx.attr.program])

launched_python_test = rule(
    implementation = _launched_python_test_impl,
    attrs = dict(
        _COMMON,
        srcs = attr.label_list(allow_files = [".py"], mandatory = True),
        main = attr.label(allow_single_file = [".py"], mandatory = True),
        program = attr.label(cfg = "target", default = "//src:muonbench", executable = True),
    ),
    test = True,
)
