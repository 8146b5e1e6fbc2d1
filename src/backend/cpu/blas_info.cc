// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/blas_info.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <cblas.h>

#include "src/base/text.h"

namespace muonbench {
namespace {

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

std::string blas_version() {
  return text("{} (kernels: {})", without_trailing_spaces(openblas_get_config()), openblas_get_corename());
}

int blas_threads() { return openblas_get_num_threads(); }

}  // namespace muonbench

namespace muonbench::cpu {

void limit_blas_threads() {
  for (const char* asked : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"})
    // NOLINTNEXTLINE(concurrency-mt-unsafe): nobody sets any
    if (std::getenv(asked) != nullptr) return;
  openblas_set_num_threads(1);
}

std::string blas_advice() {
#if defined(__x86_64__)
  constexpr std::array<std::string_view, 8> kKernelsWithoutAvx = {
      "Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Athlon", "Opteron", "Barcelona"};
  const std::string_view kernels = openblas_get_corename();
  const bool old =
      std::find(kKernelsWithoutAvx.begin(), kKernelsWithoutAvx.end(), kernels) != kKernelsWithoutAvx.end();
  if (old && __builtin_cpu_supports("avx2") != 0)
    return text(
        "OpenBLAS runs its {} kernels on a processor that has AVX2; set OPENBLAS_CORETYPE={} for faster "
        "products",
        kernels, __builtin_cpu_supports("avx512f") != 0 ? "SkylakeX" : "Haswell");
#endif
  return {};
}

}  // namespace muonbench::cpu
