# Copyright (c) 2026 the muonbench authors.
# SPDX-License-Identifier: Apache-2.0
"""CUDA sources: cuda_library for BUILD files, cuda_toolkit for the repositories @cuda and @nccl that it needs.

Only a build with --config=cuda looks for a toolkit; without it cuda_library targets are skipped.
"""

load("@bazel_tools//tools/cpp:toolchain_utils.bzl", "find_cpp_toolchain")

CudaArchitectures = provider("Compute capabilities that nvcc compiles for.", fields = ["names"])

def _cuda_architectures_impl(ctx):
    names = ctx.build_setting_value
    wrong = [name for name in names if not name.rstrip("af").isdigit()]
    if wrong or not names:
        fail("--cuda_archs: expected compute capabilities such as 80,90 or 90a, got '%s'" % ",".join(names))
    return CudaArchitectures(names = names)

cuda_architectures = rule(
    implementation = _cuda_architectures_impl,
    build_setting = config.string_list(flag = True),
)

# Bit parity between backends rests on products and sums being rounded apart, on a GPU as on a CPU.
_NVCC_FLAGS = ["-std=c++20", "-fmad=false", "--expt-relaxed-constexpr", "-lineinfo", "-Xcompiler=-fPIC,-Wall,-Wextra"]
_LEVEL = {"dbg": "-O0", "fastbuild": "-O1", "opt": "-O3"}

def _targets(names):
    """Machine code for each architecture, and what the driver can translate for later chips where the last allows it."""
    flags = ["-gencode=arch=compute_%s,code=sm_%s" % (name, name) for name in names]
    if names[-1].isdigit():
        flags.append("-gencode=arch=compute_%s,code=compute_%s" % (names[-1], names[-1]))
    return flags

def _compile(ctx, toolchain, context, source):
    output = ctx.actions.declare_file("%s/%s.o" % (ctx.label.name, source.basename))
    arguments = ctx.actions.args()
    arguments.add_all([source, "-c", "-o", output, "-ccbin", toolchain.compiler_executable])
    arguments.add_all(_NVCC_FLAGS + [_LEVEL[ctx.var["COMPILATION_MODE"]]])
    arguments.add_all(_targets(ctx.attr._architectures[CudaArchitectures].names))
    arguments.add_all(context.defines, before_each = "-D")
    arguments.add_all([".", ctx.bin_dir.path], before_each = "-I")
    arguments.add_all(context.quote_includes, before_each = "-I")
    arguments.add_all(context.includes, before_each = "-I")
    arguments.add_all(context.system_includes, before_each = "-isystem")
    ctx.actions.run(
        executable = ctx.executable.nvcc,
        arguments = [arguments],
        inputs = depset([source], transitive = [context.headers, toolchain.all_files]),
        outputs = [output],
        mnemonic = "Nvcc",
        progress_message = "Compiling " + source.short_path,
        use_default_shell_env = True,
    )
    return output

def _cuda_library_impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    needed = [target[CcInfo] for target in ctx.attr.deps]
    own = cc_common.create_compilation_context(headers = depset(ctx.files.hdrs))
    context = cc_common.merge_cc_infos(
        direct_cc_infos = [CcInfo(compilation_context = own)],
        cc_infos = needed,
    ).compilation_context
    objects = depset([_compile(ctx, toolchain, context, source) for source in ctx.files.srcs])
    linking, _ = cc_common.create_linking_context_from_compilation_outputs(
        actions = ctx.actions,
        name = ctx.label.name,
        cc_toolchain = toolchain,
        feature_configuration = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain),
        compilation_outputs = cc_common.create_compilation_outputs(objects = objects, pic_objects = objects),
        disallow_dynamic_library = True,
    )
    return [
        DefaultInfo(files = objects),
        cc_common.merge_cc_infos(
            direct_cc_infos = [CcInfo(compilation_context = own, linking_context = linking)],
            cc_infos = needed,
        ),
    ]

_cuda_library = rule(
    implementation = _cuda_library_impl,
    attrs = {
        "srcs": attr.label_list(allow_files = [".cu"], mandatory = True),
        "hdrs": attr.label_list(allow_files = [".h", ".cuh"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "nvcc": attr.label(allow_single_file = True, cfg = "exec", executable = True),
        "_architectures": attr.label(default = "//scripts/bazel:cuda_archs"),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    provides = [CcInfo],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)

# target_compatible_with of whatever a build without --config=cuda leaves out. Its deps on @cuda and @nccl: with_cuda.
NEEDS_CUDA = select({
    "//:cuda": [],
    "//conditions:default": ["//scripts/bazel:not_without_cuda"],
})

def with_cuda(labels):
    """labels, or none in a build without CUDA: so that such a build looks for no toolkit."""
    return select({
        "//:cuda": labels,
        "//conditions:default": [],
    })

def cuda_library(name, srcs, hdrs = [], deps = [], **kwargs):
    """Kernels: .cu files compiled by nvcc, for muonbench_library and others to depend on."""
    _cuda_library(
        name = name,
        srcs = srcs,
        hdrs = hdrs,
        deps = deps + with_cuda(["@cuda//:cudart"]),
        nvcc = select({
            "//:cuda": "@cuda//:nvcc",
            "//conditions:default": None,
        }),
        target_compatible_with = NEEDS_CUDA,
        **kwargs
    )

# ---- Finding a toolkit.

_LIBRARY_FOLDERS = ["lib64", "lib", "targets/x86_64-linux/lib", "lib/x86_64-linux-gnu"]

def _stop(what, tried, variable):
    fail("\n\n%s is missing.\nTried: %s.\nRemedy: set %s, or build without --config=cuda.\n" % (what, tried, variable))

def _link_flags(ctx, home, library, variable):
    """Flags for lib<library>.so; wheels have it under its numbered name alone."""
    for folder in [home + "/" + name for name in _LIBRARY_FOLDERS]:
        if not ctx.path(folder).exists:
            continue
        names = sorted([entry.basename for entry in ctx.path(folder).readdir()])
        for name in names:
            if name == "lib%s.so" % library or name.startswith("lib%s.so." % library):
                return ["-L" + folder, "-l:" + name, "-Wl,-rpath," + folder]
    fail_in = ", ".join([home + "/" + name for name in _LIBRARY_FOLDERS])
    return _stop("lib%s.so" % library, fail_in, variable)

_BUILD = """load("@rules_cc//cc:defs.bzl", "cc_library")

package(default_visibility = ["//visibility:public"])
"""

_LIBRARY = """
cc_library(
    name = %r,
    hdrs = glob(%r),
    includes = %r,
    linkopts = %r,
    deps = %r,
)
"""

def _cuda_impl(ctx):
    given = ctx.os.environ.get("CUDA_HOME", "")
    homes = [given] if given else ["/usr/local/cuda", "/opt/cuda"]
    found = [home for home in homes if ctx.path(home + "/bin/nvcc").exists]
    if not found:
        _stop("The CUDA Toolkit", ", ".join([home + "/bin/nvcc" for home in homes]), "CUDA_HOME")
    home = found[0]
    ctx.symlink(home + "/include", "include")

    # The version is in the text, so that objects of another toolkit are not taken for this one's.
    version = ctx.execute([home + "/bin/nvcc", "--version"]).stdout.strip().split("\n")[-1]

    # It names its intermediate files by process number. Sandboxes have the same numbers, and one /tmp.
    ctx.file("nvcc", "\n".join([
        "#!/bin/sh",
        "# " + version,
        "TMPDIR=$(mktemp -d) || exit 1",
        "export TMPDIR",
        "trap 'rm -rf \"$TMPDIR\"' EXIT",
        "'%s/bin/nvcc' \"$@\"" % home,
        "",
    ]), executable = True)
    headers = ["include/*.h", "include/*.hpp"]
    headers += ["include/%s/**" % folder for folder in ["crt", "nv", "cccl/nv", "nvtx3"]]
    cudart = _LIBRARY % (
        "cudart",
        headers,
        ["include", "include/cccl"],
        _link_flags(ctx, home, "cudart", "CUDA_HOME"),
        [],
    )
    cublas_flags = _link_flags(ctx, home, "cublas", "CUDA_HOME") + _link_flags(ctx, home, "cublasLt", "CUDA_HOME")
    cublas = _LIBRARY % ("cublas", [], [], cublas_flags, [":cudart"])
    ctx.file("BUILD", _BUILD + "\nexports_files([\"nvcc\"])\n" + cudart + cublas)

_cuda = repository_rule(
    implementation = _cuda_impl,
    environ = ["CUDA_HOME"],
    local = True,
)

def _nccl_impl(ctx):
    given = ctx.os.environ.get("NCCL_HOME", "")
    homes = [given] if given else [
        home
        for home in [ctx.os.environ.get("CUDA_HOME", ""), "/usr/local/cuda", "/usr/local", "/usr"]
        if home
    ]
    found = [home for home in homes if ctx.path(home + "/include/nccl.h").exists]
    if not found:
        _stop("NCCL", ", ".join([home + "/include/nccl.h" for home in homes]), "NCCL_HOME")
    ctx.symlink(found[0] + "/include/nccl.h", "include/nccl.h")
    ctx.file("BUILD", _BUILD + _LIBRARY % (
        "nccl",
        ["include/nccl.h"],
        ["include"],
        _link_flags(ctx, found[0], "nccl", "NCCL_HOME"),
        ["@cuda//:cudart"],
    ))

_nccl = repository_rule(
    implementation = _nccl_impl,
    environ = ["CUDA_HOME", "NCCL_HOME"],
    local = True,
)

def cuda_toolkit():
    _cuda(name = "cuda")
    _nccl(name = "nccl")
