// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>
#include <vector>

#include "src/base/stable_order.h"
#include "src/program/program.h"

namespace muonbench {
namespace {

constexpr std::int64_t kAlignment = 256;

/// A stretch of an arena that a live buffer occupies, in bytes, and the last moment of its life.
struct Occupied {
  std::int64_t begin, end;
  int last;
};

/// Lowest offset at which `size` bytes meet nothing occupied; `occupied` ascends.
std::int64_t lowest_free_offset(const std::vector<Occupied>& occupied, std::int64_t size) {
  std::int64_t offset = 0;
  for (const Occupied& other : occupied) {
    if (offset + size <= other.begin) break;
    offset = std::max(offset, other.end);
  }
  return offset;
}

std::int64_t aligned(Bytes size) { return (size.value() + kAlignment - 1) / kAlignment * kAlignment; }

/// A buffer's life in op indices, which for a step looked at from its end are negative.
struct Life {
  BufferId buffer;
  int first, last;
};

/// Offsets by index in `lives`, and how many bytes they need.
struct Packing {
  std::vector<Bytes> offsets;
  Bytes size;
};

/// Each buffer at the lowest offset that is free all its life, in the order in which they begin (stable).
Packing pack(const StepProgram& program, const std::vector<Life>& lives) {
  Packing packing{std::vector<Bytes>(lives.size()), {}};
  std::vector<Occupied> occupied;
  for (const std::size_t i : stable_order(
           lives.size(), [&](std::size_t a, std::size_t b) { return lives[a].first < lives[b].first; })) {
    const auto& [id, first, last] = lives[i];
    std::erase_if(occupied, [&, begin = first](const Occupied& other) { return other.last < begin; });
    const std::int64_t size = aligned(program[id].bytes());
    const std::int64_t offset = lowest_free_offset(occupied, size);
    const auto after =
        std::find_if(occupied.begin(), occupied.end(), [&](const Occupied& o) { return o.begin >= offset; });
    occupied.insert(after, Occupied{offset, offset + size, last});
    packing.offsets[i] = Bytes(offset);
    // The last buffer's own bytes, not its padding, bound the arena: the ledger counts what is needed.
    packing.size = std::max(packing.size, Bytes(offset) + program[id].bytes());
  }
  return packing;
}

/// Adds the buffers of one queue behind what is there: packed from the step's begin on, or from its end if
/// that takes less. Queues share no memory: who waits for another's buffers does not overlap with it.
void lay_out_queue(const StepProgram& program, const std::vector<BufferId>& buffers, ArenaLayout& layout) {
  std::vector<Life> lives, backwards;
  for (const BufferId id : buffers) {
    lives.push_back({id, program[id].first_op, program[id].last_op});
    backwards.push_back({id, -program[id].last_op, -program[id].first_op});
  }
  Packing packing = pack(program, lives);
  if (Packing other = pack(program, backwards); other.size < packing.size) packing = std::move(other);
  const Bytes base(aligned(layout.size));
  for (std::size_t i = 0; i < buffers.size(); ++i) layout.offsets[buffers[i]] = base + packing.offsets[i];
  if (!buffers.empty()) layout.size = std::max(layout.size, base + packing.size);
}

}  // namespace

std::vector<BufferId> arena_buffers_by_first_op(const StepProgram& program, MemoryUse use) {
  std::vector<BufferId> order;
  for (int i = 0; i < static_cast<int>(program.buffers.size()); ++i) {
    const BufferSpec& buffer = program.buffers[static_cast<std::size_t>(i)];
    if (!buffer.slot && buffer.use == use && buffer.first_op >= 0) order.push_back(BufferId{i});
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](BufferId a, BufferId b) { return program[a].first_op < program[b].first_op; });
  return order;
}

ArenaLayout lay_out_arena(const StepProgram& program, MemoryUse use) {
  std::vector<std::vector<BufferId>> by_queue(static_cast<std::size_t>(program.queues));
  for (const BufferId id : arena_buffers_by_first_op(program, use)) {
    const Op& first = program.ops[static_cast<std::size_t>(program[id].first_op)];
    by_queue[static_cast<std::size_t>(first.queue)].push_back(id);
  }
  ArenaLayout layout;
  for (const std::vector<BufferId>& buffers : by_queue) lay_out_queue(program, buffers, layout);
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
