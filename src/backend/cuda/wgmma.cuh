// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

/// Products of a warpgroup's tensor cores (compute capability 9.0a; PTX ISA, "wgmma"): (64, 16) x (16, N) of
/// bf16 or fp16 in shared memory, added to fp32 sums in registers.
namespace muonbench::cuda {

/// How an operand lies in its box of 64 x 64: a row holds numbers that a product sums over, or others.
enum class Major { kSummed, kOther };

/// Where in its box an operand's 16 numbers begin that one product sums over: `k` of four. Boxes lie one
/// behind the other, each 64 rows of 128 bytes, swizzled by 128 bytes as the copy engine does.
template <Major kMajor>
__device__ __forceinline__ std::uint32_t summed_offset(int k) {
  return kMajor == Major::kSummed ? k * 32 : k * 16 * 128;
}
__device__ __forceinline__ std::uint64_t describe_operand(std::uint32_t address) {
  constexpr std::uint64_t kBetweenBoxes = 64 * 128, kBetween8Rows = 8 * 128, kSwizzle128 = 1;
  return (address & 0x3FFFFU) >> 4U | (kBetweenBoxes >> 4U) << 16U | (kBetween8Rows >> 4U) << 32U |
         kSwizzle128 << 62U;
}

/// Products run between these; their sums may be touched after wait_for_products.
__device__ __forceinline__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// All but the last kOpen groups of them.
template <int kOpen>
__device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kOpen) : "memory");
}
/// Ties the sums to what was waited for, which the compiler does not know.
template <int kCount>
__device__ __forceinline__ void sums_are_done(float (&sums)[kCount]) {
#pragma unroll
  for (float& sum : sums) asm volatile("" : "+f"(sum)::"memory");
}

// clang-format off
#define MUONBENCH_SUMS_8(i) \
  "+f"(sums[i]), "+f"(sums[i + 1]), "+f"(sums[i + 2]), "+f"(sums[i + 3]), \
  "+f"(sums[i + 4]), "+f"(sums[i + 5]), "+f"(sums[i + 6]), "+f"(sums[i + 7])
#define MUONBENCH_SUMS_32(i) \
  MUONBENCH_SUMS_8(i), MUONBENCH_SUMS_8(i + 8), MUONBENCH_SUMS_8(i + 16), MUONBENCH_SUMS_8(i + 24)
#define MUONBENCH_NAMES_0 \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MUONBENCH_NAMES_32 \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MUONBENCH_NAMES_64 \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, " \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define MUONBENCH_WGMMA(type, n, names, a, b, transposed) \
  "{\n.reg .pred add;\nsetp.eq.u32 add, 0, 0;\n" \
  "wgmma.mma_async.sync.aligned.m64n" n "k16.f32." type "." type " {" names "}, " \
  a ", " b ", add, 1, 1, " transposed ", " transposed ";\n}"
// clang-format on

/// sums += A B. N / 2 sums a thread: of warp w and lane l in row 16 w + l / 4 those of columns 8 j + 2 (l %
/// 4) and the next are sums[4 j] and [4 j + 1]; those 8 rows below them are [4 j + 2] and [4 j + 3].
template <class T, int N, Major kMajor>
__device__ __forceinline__ void multiply(float* sums, std::uint64_t a, std::uint64_t b) {
  static_assert(N == 64 || N == 128 || N == 192);
  static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
  constexpr int kTransposed = kMajor == Major::kOther;
#define MUONBENCH_MULTIPLY(type)                                                                        \
  if constexpr (N == 64)                                                                                \
    asm volatile(MUONBENCH_WGMMA(type, "64", MUONBENCH_NAMES_0, "%32", "%33", "%34")                    \
                 : MUONBENCH_SUMS_32(0)                                                                 \
                 : "l"(a), "l"(b), "n"(kTransposed));                                                   \
  else if constexpr (N == 128)                                                                          \
    asm volatile(                                                                                       \
        MUONBENCH_WGMMA(type, "128", MUONBENCH_NAMES_0 ", " MUONBENCH_NAMES_32, "%64", "%65", "%66")    \
        : MUONBENCH_SUMS_32(0), MUONBENCH_SUMS_32(32)                                                   \
        : "l"(a), "l"(b), "n"(kTransposed));                                                            \
  else                                                                                                  \
    asm volatile(                                                                                       \
        MUONBENCH_WGMMA(type, "192", MUONBENCH_NAMES_0 ", " MUONBENCH_NAMES_32 ", " MUONBENCH_NAMES_64, \
                        "%96", "%97", "%98")                                                            \
        : MUONBENCH_SUMS_32(0), MUONBENCH_SUMS_32(32), MUONBENCH_SUMS_32(64)                            \
        : "l"(a), "l"(b), "n"(kTransposed))
  if constexpr (std::is_same_v<T, __half>) {
    MUONBENCH_MULTIPLY("f16");
  } else {
    MUONBENCH_MULTIPLY("bf16");
  }
#undef MUONBENCH_MULTIPLY
}

#undef MUONBENCH_WGMMA
#undef MUONBENCH_NAMES_64
#undef MUONBENCH_NAMES_32
#undef MUONBENCH_NAMES_0
#undef MUONBENCH_SUMS_32
#undef MUONBENCH_SUMS_8

}  // namespace muonbench::cuda
