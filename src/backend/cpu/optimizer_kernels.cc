// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/cpu/optimizer_kernels.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "src/backend/cpu/elementwise.h"

namespace muonbench::cpu {
namespace {

// Several passes over one piece at a time: the piece stays in the first-level cache, so that memory is read
// and written once. Elementwise work gives the same bits wherever the cuts are.
constexpr std::int64_t kPiece = 1024;

template <class Pass>
void for_each_piece(std::int64_t size, const Pass& pass) {
  for (std::int64_t begin = 0; begin < size; begin += kPiece) pass(begin, std::min(kPiece, size - begin));
}

void run_momentum_item(const MomentumRule& rule, const BoundMomentumItem& item) {
  const float decay = rule.decay_factor();
  const float l2 = rule.l2_factor();
  for_each_piece(item.size, [&](std::int64_t at, std::int64_t n) {
    float* gradient = item.gradient + at;
    float* momentum = item.momentum + at;
    if (decay != 0.0F) add_scaled(item.master + at, item.master + at, decay, n);
    if (l2 != 0.0F) add_scaled(gradient, item.master + at, l2, n);
    lerp(momentum, momentum, gradient, static_cast<float>(1.0 - rule.momentum), n);
    if (item.ns_input == nullptr) return;
    if (rule.nesterov)
      lerp(item.ns_input + at, gradient, momentum, static_cast<float>(rule.momentum), n);
    else
      std::copy_n(momentum, n, item.ns_input + at);
  });
}

/// `n` elements of an update from `at` on as they are added to the master: themselves, or in `room`.
const float* scaled_update(const BoundUpdateItem& item, std::int64_t at, std::int64_t n, float* room) {
  const float* update = room;
  switch (item.update_dtype) {
    case DType::kFp32: update = static_cast<const float*>(item.update) + at; break;
    case DType::kBf16: fp32_from_bf16(room, static_cast<const std::uint16_t*>(item.update) + at, n); break;
  }
  if (item.scale == NsScale{}) return update;
  scale_twice(room, update, item.scale.factor, item.scale.extra, n);
  return room;
}

void store_weight(void* weight, const float* master, std::int64_t at, std::int64_t n) {
  if (weight != nullptr) bf16_from_fp32(static_cast<std::uint16_t*>(weight) + at, master + at, n);
}

/// Moments as the loop takes them: fp32, copied and rounded back where they are kept in bf16.
class Moments {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init)
  Moments(void* kept, DType dtype, std::int64_t at, std::int64_t n) : dtype_(dtype), n_(n) {
    switch (dtype_) {
      case DType::kFp32: values_ = static_cast<float*>(kept) + at; break;
      case DType::kBf16:
        rounded_ = static_cast<std::uint16_t*>(kept) + at;
        values_ = copy_.data();
        fp32_from_bf16(values_, rounded_, n_);
        break;
    }
  }
  Moments(const Moments&) = delete;
  Moments& operator=(const Moments&) = delete;
  ~Moments() = default;
  [[nodiscard]] float* values() { return values_; }
  void store() {
    if (dtype_ == DType::kBf16) bf16_from_fp32(rounded_, values_, n_);
  }

 private:
  DType dtype_;
  std::int64_t n_;
  float* values_ = nullptr;
  std::uint16_t* rounded_ = nullptr;
  std::array<float, kPiece> copy_;  // filled where it is used: zeros would cost a pass of their own
};

void run_adam_item(const BoundAdamItem& item, DType dtype, const AdamScalars& scalars) {
  for_each_piece(item.size, [&](std::int64_t at, std::int64_t n) {
    Moments exp_avg(item.exp_avg, dtype, at, n), exp_avg_sq(item.exp_avg_sq, dtype, at, n);
    adam({item.gradient + at, item.master + at, exp_avg.values(), exp_avg_sq.values()}, scalars, n);
    exp_avg.store();
    exp_avg_sq.store();
    store_weight(item.weight, item.master, at, n);
  });
}

}  // namespace

void run_momentum(const BoundMomentum& work) {
  for (const BoundMomentumItem& item : work.items) run_momentum_item(work.rule, item);
}

void run_update(const BoundUpdate& work) {
  std::array<float, kPiece> room{};
  for (const BoundUpdateItem& item : work.items) {
    for_each_piece(item.size, [&](std::int64_t at, std::int64_t n) {
      add_scaled(item.master + at, scaled_update(item, at, n, room.data()), -work.lr, n);
      store_weight(item.weight, item.master, at, n);
    });
  }
}

void run_adam(const BoundAdam& work, std::int64_t step) {
  const AdamScalars scalars = adam_scalars(work.rule, step);
  for (const BoundAdamItem& item : work.items) run_adam_item(item, work.moments, scalars);
}

}  // namespace muonbench::cpu
