// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <cuda.h>

/// Instructions of compute capability 9.0a that CUDA C++ has no words for (PTX ISA, "mbarrier",
/// "cp.async.bulk.tensor", "stmatrix", "setmaxnreg"). Addresses are those of shared memory.
namespace muonbench::cuda {

__device__ __forceinline__ std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

// ---- Barriers that loads complete.

__device__ __forceinline__ void init_barrier(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals));
}
/// Makes what init_barrier wrote visible to loads and to the other threads; a __syncthreads() comes after it.
__device__ __forceinline__ void barriers_are_made() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Arrives, and asks for so many bytes before the phase completes.
__device__ __forceinline__ void expect_bytes(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Until the phase of this parity is complete. It cannot tell a phase from the one two later.
__device__ __forceinline__ void wait_for(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

// ---- Boxes of a tensor, by the copy engine.

__device__ __forceinline__ void load_box(std::uint32_t to, const CUtensorMap& map, std::uint32_t barrier,
                                         int x, int y, int z) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(to),
      "l"(&map), "r"(barrier), "r"(x), "r"(y), "r"(z)
      : "memory");
}
__device__ __forceinline__ void store_box(const CUtensorMap& map, std::uint32_t from, int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(from), "r"(x), "r"(y), "r"(z)
               : "memory");
}
__device__ __forceinline__ void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Until the shared memory of this thread's stores may be written again.
__device__ __forceinline__ void wait_for_stores_to_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
__device__ __forceinline__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
/// What this thread wrote to shared memory is seen by stores and products that begin after it.
__device__ __forceinline__ void publish_shared() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

// ---- Four 8 x 8 matrices of 16-bit numbers, as products leave them: to the row that each lane names.

__device__ __forceinline__ void store_matrices(std::uint32_t to, const std::uint32_t* four) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(four[0]),
               "r"(four[1]), "r"(four[2]), "r"(four[3])
               : "memory");
}
__device__ __forceinline__ void store_transposed(std::uint32_t to, const std::uint32_t* four) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
               "r"(four[0]), "r"(four[1]), "r"(four[2]), "r"(four[3])
               : "memory");
}

// ---- Parts of a thread block. Barrier 0 is __syncthreads()'s.

template <int kThreads>
__device__ __forceinline__ void sync_part(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
template <int kThreads>
__device__ __forceinline__ void arrive_part(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kThreads) : "memory");
}
/// Registers of a thread, of a whole warpgroup at once.
template <int kRegisters>
__device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ __forceinline__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace muonbench::cuda
