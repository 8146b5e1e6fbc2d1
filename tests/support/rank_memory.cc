// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/rank_memory.h"

#include "src/base/text.h"

namespace muonbench {
namespace {

constexpr std::int64_t kSlotBytes = 2;  // the smallest element

}  // namespace

RankMemory::RankMemory(const StepProgram& program) : program_(program) {
  for (const BufferSpec& buffer : program.buffers)
    persistent_.emplace_back(buffer.slot ? static_cast<std::size_t>(buffer.size.value()) : 0, kGarbage);
  for (const auto& [use, arena] : program.arenas)
    arenas_[use].assign(static_cast<std::size_t>(arena.size.value() / kSlotBytes), kGarbage);
}

RankMemory::View RankMemory::view(BufferId id) { return view(Region{id, Elements(0), program_[id].size}); }

RankMemory::View RankMemory::view(const Region& region) {
  const std::int64_t begin = region.offset.value();
  const BufferSpec& buffer = program_[region.buffer];
  if (begin < 0 || region.size < Elements(0) || begin + region.size.value() > buffer.size.value())
    throw WalkError(text("elements {}..{} of {}, which has {}", begin, begin + region.size.value(),
                         buffer.name, buffer.size.value()));
  if (buffer.slot)
    return {persistent_.at(static_cast<std::size_t>(region.buffer.index)).data() + begin, 1,
            region.size.value()};
  const std::int64_t stride = size_of(buffer.dtype).value() / kSlotBytes;
  std::vector<Id>& arena = arenas_.at(buffer.use);
  const std::int64_t first = program_.arenas.at(buffer.use).offsets.at(region.buffer).value() / kSlotBytes;
  if (first + buffer.size.value() * stride > std::ssize(arena))
    throw WalkError(text("{} lies beyond its arena", buffer.name));
  return {arena.data() + first + begin * stride, stride, region.size.value()};
}

void RankMemory::begin_lives(int op) {
  for (const auto& [use, arena] : program_.arenas) {
    for (const auto& [id, offset] : arena.offsets) {
      if (program_[id].first_op != op) continue;
      const View born = view(id);
      for (std::int64_t i = 0; i < born.size(); ++i) born.set(i, kGarbage);
    }
  }
}

}  // namespace muonbench
