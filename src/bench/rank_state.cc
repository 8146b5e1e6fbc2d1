// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/bench/rank_state.h"

#include <algorithm>
#include <cstddef>

#include "src/exec/bind.h"

namespace muonbench {

ShardExtent RankState::extent(ParamIndex p) const {
  const Family family = family_of(inputs_.params[p]);
  return inputs_.specs[p.at()].extent(inputs_.grid.coordinates(family, rank_).place);
}

void RankState::initialise(const ValueSource& values) {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferId id{static_cast<int>(i)};
    const auto& slot = program_[id].slot;
    if (!slot || program_[id].size == Elements(0)) continue;
    switch (slot->kind) {
      case StateKind::kWeight:
      case StateKind::kMaster: fill(id, values, Values::kWeights, 0); break;
      case StateKind::kMomentum:
      case StateKind::kExpAvg:
      case StateKind::kExpAvgSq:
      case StateKind::kGradient: zero(id); break;
    }
  }
}

void RankState::load_gradients(const ValueSource& values, std::int64_t step) {
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const BufferId id{static_cast<int>(i)};
    const auto& slot = program_[id].slot;
    if (slot && slot->kind == StateKind::kGradient && program_[id].size > Elements(0))
      fill(id, values, Values::kGradients, step);
  }
}

void RankState::fill(BufferId buffer, const ValueSource& values, Values which, std::int64_t step) {
  const StateSlot& slot = *program_[buffer].slot;
  const ShardExtent at = extent(slot.param);
  // Pads, at the end, stay zero.
  const Range rows{at.rows.begin + slot.rows.begin,
                   std::clamp<std::int64_t>(at.rows.count - slot.rows.begin, 0, slot.rows.count)};
  const auto stream =
      which == Values::kWeights ? values.weight_stream(slot.param) : values.gradient_stream(slot.param, step);
  if (stream) {
    if (rows.count < slot.rows.count) zero(buffer);
    device_.fill({executor_.data(buffer), program_[buffer].dtype, rows.count, slot.cols, stream->key,
                  rows.begin, at.cols.begin, stream->scale});
    return;
  }
  std::vector<float> host(static_cast<std::size_t>(slot.rows.count * slot.cols), 0.0F);
  for (std::int64_t r = 0; r < rows.count; ++r) {
    const std::span<float> out(host.data() + r * slot.cols, static_cast<std::size_t>(slot.cols));
    switch (which) {
      case Values::kWeights: values.weights(slot.param, rows.begin + r, at.cols.begin, out); break;
      case Values::kGradients: values.gradients(slot.param, step, rows.begin + r, at.cols.begin, out); break;
    }
  }
  upload(buffer, host);
}

void RankState::zero(BufferId buffer) {
  device_.fill_with_zeros(executor_.data(buffer), program_[buffer].bytes());
}

void RankState::upload(BufferId buffer, const std::vector<float>& values) {
  const BufferSpec& spec = program_[buffer];
  switch (spec.dtype) {
    case DType::kFp32: device_.upload(executor_.data(buffer), values.data(), spec.bytes()); break;
    case DType::kBf16: {
      std::vector<std::uint16_t> rounded(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) rounded[i] = bf16_from_fp32(values[i]);
      device_.upload(executor_.data(buffer), rounded.data(), spec.bytes());
      break;
    }
  }
}

std::vector<float> RankState::download(Region region) const {
  const auto count = static_cast<std::size_t>(region.size.value());
  std::vector<float> values(count);
  if (count == 0) return values;
  const DType dtype = program_[region.buffer].dtype;
  const Bytes size = bytes_of(region.size, dtype);
  const auto* from =
      static_cast<const std::byte*>(executor_.data(region.buffer)) + bytes_of(region.offset, dtype).value();
  switch (dtype) {
    case DType::kFp32: device_.download(values.data(), from, size); break;
    case DType::kBf16: {
      std::vector<std::uint16_t> rounded(count);
      device_.download(rounded.data(), from, size);
      for (std::size_t i = 0; i < count; ++i) values[i] = fp32_from_bf16(rounded[i]);
      break;
    }
  }
  return values;
}

std::vector<MasterRows> RankState::read_master() const {
  std::vector<MasterRows> all;
  for (const KeptState& kept : program_.kept) {
    const ShardExtent at = extent(kept.param);
    const Range rows{at.rows.begin + kept.rows.begin, kept.rows.count};
    all.push_back({kept.param, rows, at.cols, kept.counted, download(kept.master)});
  }
  return all;
}

std::vector<MasterRows> RankState::read_weights() const {
  std::vector<MasterRows> all;
  for (const KeptState& kept : program_.kept) {
    const ShardExtent at = extent(kept.param);
    const Region true_rows{kept.weight.buffer, kept.weight.offset, Elements(at.rows.count * kept.cols)};
    all.push_back({kept.param, at.rows, at.cols, kept.counted, download(true_rows)});
  }
  return all;
}

std::vector<MasterRows> RankState::read(StateKind kind) const {
  std::vector<MasterRows> all;
  for (std::size_t i = 0; i < program_.buffers.size(); ++i) {
    const auto& slot = program_.buffers[i].slot;
    if (!slot || slot->kind != kind) continue;
    const ShardExtent at = extent(slot->param);
    const Range rows{at.rows.begin + slot->rows.begin, slot->rows.count - slot->pad_rows};
    const Region region{BufferId{static_cast<int>(i)}, Elements(0), Elements(rows.count * slot->cols)};
    all.push_back({slot->param, rows, at.cols, Counted::kHere, download(region)});
  }
  return all;
}

}  // namespace muonbench
