// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
//
// Passes over lists of arrays, element by element. They are bound by memory: a thread loads 16 bytes at a
// time and several arrays before it uses the first, and each array is read and written once.
#include <cstdint>

#include "src/backend/cuda/kernels.h"
#include "src/backend/cuda/launch.h"
#include "src/backend/cuda/vector.cuh"

namespace muonbench::cuda {
namespace {

constexpr int kThreads = 512;

// A pass is a struct with: Item; is_aligned(item): all arrays take 16-byte accesses; Loaded<W>: what W
// elements need; load(item, i) and finish(item, i, loaded).
template <int W, class Pass>
__device__ void run_stretch(const Pass& pass, const typename Pass::Item& item, std::int64_t begin,
                            int count) {
  // Two groups at a time: the second's loads are under way while the first is worked on.
  const int groups = count / W;
  int group = static_cast<int>(threadIdx.x);
  for (; group + kThreads < groups; group += 2 * kThreads) {
    const std::int64_t first = begin + static_cast<std::int64_t>(group) * W;
    const std::int64_t second = first + static_cast<std::int64_t>(kThreads) * W;
    const auto one = pass.template load<W>(item, first);
    const auto two = pass.template load<W>(item, second);
    pass.template finish<W>(item, first, one);
    pass.template finish<W>(item, second, two);
  }
  if (group < groups) {
    const std::int64_t at = begin + static_cast<std::int64_t>(group) * W;
    pass.template finish<W>(item, at, pass.template load<W>(item, at));
  }
}

template <class Pass>
__global__ void __launch_bounds__(kThreads)
    run_pass(const typename Pass::Item* items, const Piece* pieces, Pass pass) {
  const Piece piece = pieces[blockIdx.x];
  const typename Pass::Item item = items[piece.item];
  const std::int64_t begin = piece.index * kPieceElements;
  const int count = static_cast<int>(min(kPieceElements, item.size - begin));
  if (!pass.is_aligned(item)) {
    run_stretch<1>(pass, item, begin, count);
    return;
  }
  const int whole = count / 4 * 4;
  run_stretch<4>(pass, item, begin, whole);
  run_stretch<1>(pass, item, begin + whole, count - whole);
}

template <class Pass>
void launch_pass(const char* name, const PieceList<typename Pass::Item>& list, const Pass& pass,
                 cudaStream_t stream) {
  if (list.count == 0) return;
  run_pass<<<grid_of(list.count), kThreads, 0, stream>>>(list.items, list.pieces, pass);
  check_launch(name);
}

// optimizer_rules.h: lerp(start, end, weight).
__device__ float lerp(float start, float end, float weight) {
  if (fabsf(weight) < 0.5F) return start + weight * (end - start);
  return end - (end - start) * (1.0F - weight);
}

struct MomentumPass {
  using Item = BoundMomentumItem;
  MomentumScalars scalars;

  __device__ bool is_aligned(const Item& item) const {
    return aligned16(item.gradient, item.master, item.momentum, item.ns_input);
  }
  template <int W>
  struct Loaded {
    Vector<W> gradient, master, momentum;
  };
  template <int W>
  __device__ Loaded<W> load(const Item& item, std::int64_t i) const {
    Loaded<W> loaded;
    loaded.gradient = load_vector<W>(item.gradient + i);
    loaded.momentum = load_vector<W>(item.momentum + i);
    if (scalars.decay != 0.0F || scalars.l2 != 0.0F) loaded.master = load_vector<W>(item.master + i);
    return loaded;
  }
  template <int W>
  __device__ void finish(const Item& item, std::int64_t i, Loaded<W> loaded) const {
    Vector<W> input;
    for (int w = 0; w < W; ++w) {
      if (scalars.decay != 0.0F) loaded.master[w] = loaded.master[w] + scalars.decay * loaded.master[w];
      if (scalars.l2 != 0.0F) loaded.gradient[w] = loaded.gradient[w] + scalars.l2 * loaded.master[w];
      loaded.momentum[w] = lerp(loaded.momentum[w], loaded.gradient[w], scalars.rest);
      input[w] = scalars.nesterov ? lerp(loaded.gradient[w], loaded.momentum[w], scalars.momentum)
                                  : loaded.momentum[w];
    }
    if (scalars.decay != 0.0F) store_vector(item.master + i, loaded.master);
    if (scalars.l2 != 0.0F) store_vector(item.gradient + i, loaded.gradient);
    store_vector(item.momentum + i, loaded.momentum);
    if (item.ns_input != nullptr) store_vector(item.ns_input + i, input);
  }
};

template <int W>
__device__ void store_weight(void* weight, std::int64_t i, const Vector<W>& master) {
  if (weight != nullptr) store_bf16(static_cast<std::uint16_t*>(weight) + i, master);
}

struct UpdatePass {
  using Item = BoundUpdateItem;
  float minus_lr;

  __device__ static bool is_bf16(const Item& item) { return item.update_dtype == DType::kBf16; }
  __device__ bool is_aligned(const Item& item) const {
    const bool update = is_bf16(item) ? aligned8(item.update) : aligned16(item.update);
    return update && aligned16(item.master) && aligned8(item.weight);
  }
  template <int W>
  struct Loaded {
    Vector<W> update, master;
  };
  template <int W>
  __device__ Loaded<W> load(const Item& item, std::int64_t i) const {
    return {is_bf16(item) ? load_bf16<W>(static_cast<const std::uint16_t*>(item.update) + i)
                          : load_vector<W>(static_cast<const float*>(item.update) + i),
            load_vector<W>(item.master + i)};
  }
  template <int W>
  __device__ void finish(const Item& item, std::int64_t i, Loaded<W> loaded) const {
    for (int w = 0; w < W; ++w) {
      // Times 1 is itself: a result that NS has scaled keeps its bits.
      const float update = (loaded.update[w] * item.scale.factor) * item.scale.extra;
      loaded.master[w] = loaded.master[w] + minus_lr * update;
    }
    store_vector(item.master + i, loaded.master);
    store_weight(item.weight, i, loaded.master);
  }
};

// Where moments of one dtype lie, and how they are loaded and stored.
struct Fp32Moments {
  __device__ static bool are_aligned(const void* first, const void* second) {
    return aligned16(first, second);
  }
  template <int W>
  __device__ static Vector<W> load(const void* moments, std::int64_t i) {
    return load_vector<W>(static_cast<const float*>(moments) + i);
  }
  template <int W>
  __device__ static void store(void* moments, std::int64_t i, const Vector<W>& values) {
    store_vector(static_cast<float*>(moments) + i, values);
  }
};
struct Bf16Moments {
  __device__ static bool are_aligned(const void* first, const void* second) {
    return aligned8(first, second);
  }
  template <int W>
  __device__ static Vector<W> load(const void* moments, std::int64_t i) {
    return load_bf16<W>(static_cast<const std::uint16_t*>(moments) + i);
  }
  template <int W>
  __device__ static void store(void* moments, std::int64_t i, const Vector<W>& values) {
    store_bf16(static_cast<std::uint16_t*>(moments) + i, values);
  }
};

template <class Moments>
struct AdamPass {
  using Item = BoundAdamItem;
  AdamScalars s;

  __device__ bool is_aligned(const Item& item) const {
    return aligned16(item.gradient, item.master) && aligned8(item.weight) &&
           Moments::are_aligned(item.exp_avg, item.exp_avg_sq);
  }
  template <int W>
  struct Loaded {
    Vector<W> gradient, master, exp_avg, exp_avg_sq;
  };
  template <int W>
  __device__ Loaded<W> load(const Item& item, std::int64_t i) const {
    return {load_vector<W>(item.gradient + i), load_vector<W>(item.master + i),
            Moments::template load<W>(item.exp_avg, i), Moments::template load<W>(item.exp_avg_sq, i)};
  }
  template <int W>
  __device__ void finish(const Item& item, std::int64_t i, Loaded<W> loaded) const {
    for (int w = 0; w < W; ++w) {
      const float p = loaded.master[w];
      const float g = s.coupled == 0.0F ? loaded.gradient[w] : loaded.gradient[w] + s.coupled * p;
      const float m = s.beta1 * loaded.exp_avg[w] + s.rest1 * g;
      const float v = s.beta2 * loaded.exp_avg_sq[w] + s.rest2 * g * g;
      const float direction = (m / s.correction1) / (sqrtf(v / s.correction2) + s.eps);
      loaded.exp_avg[w] = m;
      loaded.exp_avg_sq[w] = v;
      loaded.master[w] = p - s.lr * (s.decoupled == 0.0F ? direction : direction + s.decoupled * p);
    }
    Moments::store(item.exp_avg, i, loaded.exp_avg);
    Moments::store(item.exp_avg_sq, i, loaded.exp_avg_sq);
    store_vector(item.master + i, loaded.master);
    store_weight(item.weight, i, loaded.master);
  }
};

}  // namespace

void launch_momentum(const PieceList<BoundMomentumItem>& list, const MomentumScalars& scalars,
                     cudaStream_t stream) {
  launch_pass("momentum", list, MomentumPass{scalars}, stream);
}

void launch_update(const PieceList<BoundUpdateItem>& list, float lr, cudaStream_t stream) {
  launch_pass("update", list, UpdatePass{-lr}, stream);
}

void launch_adam(const PieceList<BoundAdamItem>& list, const AdamScalars& scalars, DType moments,
                 cudaStream_t stream) {
  switch (moments) {
    case DType::kFp32: launch_pass("adam", list, AdamPass<Fp32Moments>{scalars}, stream); break;
    case DType::kBf16: launch_pass("adam", list, AdamPass<Bf16Moments>{scalars}, stream); break;
  }
}

}  // namespace muonbench::cuda
