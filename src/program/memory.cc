// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "src/program/program.h"

namespace muonbench {
namespace {

constexpr std::int64_t kAlignment = 256;

struct Placed {
  std::int64_t begin, end;  // bytes
  int first_op, last_op;
};

/// Lowest aligned offset at which `size` bytes do not meet anything placed that lives at the same time.
std::int64_t lowest_free_offset(const std::vector<Placed>& placed, const BufferSpec& buffer, std::int64_t size) {
  std::vector<Placed> live;
  for (const Placed& other : placed)
    if (other.first_op <= buffer.last_op && buffer.first_op <= other.last_op) live.push_back(other);
  std::sort(live.begin(), live.end(), [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  std::int64_t offset = 0;
  for (const Placed& other : live) {
    if (offset + size <= other.begin) break;
    offset = std::max(offset, other.end);
  }
  return offset;
}

}  // namespace

ArenaLayout lay_out_arena(const StepProgram& program, MemoryUse use) {
  std::vector<BufferId> order;
  for (int i = 0; i < static_cast<int>(program.buffers.size()); ++i) {
    const BufferSpec& buffer = program.buffers[static_cast<std::size_t>(i)];
    if (!buffer.slot && buffer.use == use && buffer.first_op >= 0) order.push_back(BufferId{i});
  }
  // Large ones first: small ones then fill the gaps.
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return program[a].bytes() > program[b].bytes(); });

  ArenaLayout layout;
  std::vector<Placed> placed;
  for (const BufferId id : order) {
    const BufferSpec& buffer = program[id];
    const std::int64_t size = (buffer.bytes().value() + kAlignment - 1) / kAlignment * kAlignment;
    const std::int64_t offset = lowest_free_offset(placed, buffer, size);
    placed.push_back({offset, offset + size, buffer.first_op, buffer.last_op});
    layout.offsets.emplace(id, Bytes(offset));
    // The last buffer's own bytes, not its padding, bound the arena: the ledger counts what is needed.
    layout.size = std::max(layout.size, Bytes(offset) + buffer.bytes());
  }
  return layout;
}

Bytes MemoryLedger::of(MemoryUse use) const {
  const auto found = by_use.find(use);
  return found == by_use.end() ? Bytes(0) : found->second;
}

Bytes MemoryLedger::state() const {
  return of(MemoryUse::kMaster) + of(MemoryUse::kMomentum) + of(MemoryUse::kAdam);
}

Bytes MemoryLedger::peak() const {
  Bytes sum;
  for (const auto& [use, bytes] : by_use) sum += bytes;
  return sum;
}

MemoryLedger ledger_of(const StepProgram& program) {
  MemoryLedger ledger;
  for (const BufferSpec& buffer : program.buffers) {
    if (!buffer.slot) continue;
    ledger.by_use[buffer.use] += buffer.bytes();
    if (buffer.use == MemoryUse::kMaster || buffer.use == MemoryUse::kMomentum)
      ledger.pads += bytes_of(Elements(buffer.slot->pad_rows * buffer.slot->cols), buffer.dtype);
  }
  for (const auto& [use, arena] : program.arenas) ledger.by_use[use] += arena.size;
  return ledger;
}

}  // namespace muonbench
