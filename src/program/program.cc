// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/program.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "src/base/check.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

/// Last op that wrote each buffer and the ops that have read it since.
struct BufferHistory {
  int writer = -1;
  std::vector<int> readers;
};

void sort_and_unique(std::vector<int>& ops) {
  std::sort(ops.begin(), ops.end());
  ops.erase(std::unique(ops.begin(), ops.end()), ops.end());
}

/// Ops that `op` must follow; records `op` in the history.
std::vector<int> dependencies(const Access& access, int op, std::vector<BufferHistory>& history) {
  std::vector<int> after;
  const auto at = [&](BufferId id) -> BufferHistory& { return history[static_cast<std::size_t>(id.index)]; };
  for (const BufferId id : access.reads) {
    if (at(id).writer >= 0) after.push_back(at(id).writer);
  }
  for (const BufferId id : access.writes) {
    if (at(id).writer >= 0) after.push_back(at(id).writer);
    after.insert(after.end(), at(id).readers.begin(), at(id).readers.end());
  }
  for (const BufferId id : access.writes) at(id) = BufferHistory{op, {}};
  for (const BufferId id : access.reads) {
    if (at(id).writer != op && (at(id).readers.empty() || at(id).readers.back() != op))
      at(id).readers.push_back(op);
  }
  sort_and_unique(after);
  std::erase(after, op);
  return after;
}

void set_lifetimes(StepProgram& program) {
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Access access = access_of(program.ops[i]);
    for (const std::vector<BufferId>* ids : {&access.reads, &access.writes, &access.beside}) {
      for (const BufferId id : *ids) {
        BufferSpec& buffer = program.buffers[static_cast<std::size_t>(id.index)];
        if (buffer.first_op < 0) buffer.first_op = static_cast<int>(i);
        buffer.last_op = static_cast<int>(i);
      }
    }
  }
}

void follow_data(StepProgram& program) {
  std::vector<BufferHistory> history(program.buffers.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    op.after = dependencies(access_of(op), static_cast<int>(i), history);
  }
}

/// Ops that touch each buffer, ascending.
std::vector<std::vector<int>> touching_ops(const StepProgram& program) {
  std::vector<std::vector<int>> touching(program.buffers.size());
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const Access access = access_of(program.ops[i]);
    for (const std::vector<BufferId>* ids : {&access.reads, &access.writes}) {
      for (const BufferId id : *ids) {
        std::vector<int>& ops = touching[static_cast<std::size_t>(id.index)];
        if (ops.empty() || ops.back() != static_cast<int>(i)) ops.push_back(static_cast<int>(i));
      }
    }
  }
  return touching;
}

/// Who used each stretch of an arena last.
class Tenancy {
 public:
  /// The buffers that had [begin, end) before; `next` has it from now on. Looks at stretches of that piece
  /// alone: an arena of ever smaller buffers falls into as many stretches as there are buffers.
  std::vector<BufferId> take_over(std::int64_t begin, std::int64_t end, BufferId next) {
    std::vector<BufferId> earlier;
    if (begin == end) return earlier;
    split_at(begin);
    split_at(end);
    const auto first = stretches_.lower_bound(begin);
    const auto behind = stretches_.lower_bound(end);
    for (auto old = first; old != behind; ++old) earlier.push_back(old->second.tenant);
    stretches_.erase(first, behind);
    stretches_.emplace(begin, Stretch{end, next});
    return earlier;
  }

 private:
  struct Stretch {
    std::int64_t end;
    BufferId tenant;
  };

  /// Makes no stretch reach across `offset`.
  void split_at(std::int64_t offset) {
    const auto above = stretches_.lower_bound(offset);
    if (above == stretches_.begin()) return;
    Stretch& below = std::prev(above)->second;
    if (below.end <= offset) return;
    stretches_.emplace(offset, below);
    below.end = offset;
  }

  std::map<std::int64_t, Stretch> stretches_;  ///< by begin; disjoint
};

/// A buffer may start where another one lay. Its first op must then follow every op that touched the other: a
/// collective may still be under way though the ops after it have begun.
void follow_earlier_tenants(StepProgram& program) {
  const std::vector<std::vector<int>> touching = touching_ops(program);
  for (const auto& [use, arena] : program.arenas) {
    Tenancy tenancy;
    for (const BufferId id : arena_buffers_by_first_op(program, use)) {
      // A life may begin beside an op that does not touch the buffer yet.
      const std::vector<int>& own = touching[static_cast<std::size_t>(id.index)];
      if (own.empty()) continue;
      const std::int64_t begin = arena.offsets.at(id).value();
      Op& first = program.ops[static_cast<std::size_t>(own.front())];
      for (const BufferId earlier : tenancy.take_over(begin, begin + program[id].bytes().value(), id)) {
        const std::vector<int>& ops = touching[static_cast<std::size_t>(earlier.index)];
        first.after.insert(first.after.end(), ops.begin(), ops.end());
      }
      sort_and_unique(first.after);
    }
  }
}

/// All ranks start a communicator's collectives in one order, and none overlaps with the next. Within a queue
/// that holds by itself; across queues it takes a dependency.
void follow_on_other_queues(StepProgram& program) {
  std::map<GroupKey, int> latest;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    Op& op = program.ops[i];
    const auto group = group_of(op);
    if (!group) continue;
    const auto [before, is_first] = latest.try_emplace(*group, static_cast<int>(i));
    if (is_first) continue;
    if (program.ops[static_cast<std::size_t>(before->second)].queue != op.queue) {
      op.after.push_back(before->second);
      sort_and_unique(op.after);
    }
    before->second = static_cast<int>(i);
  }
}

}  // namespace

std::string name_of(const BufferSpec& buffer) {
  if (!buffer.slot) return buffer.name;
  return text("{} of parameter {}", name_of(buffer.use), buffer.slot->param.value());
}

void ProgramBuilder::expect(std::size_t params) {
  program_.buffers.reserve(params * kStateKindCount);
  program_.kept.reserve(params);
  program_.ops.reserve(params);
}

BufferId ProgramBuilder::add_transient(std::string name, Elements size, DType dtype, MemoryUse use) {
  program_.buffers.push_back(BufferSpec{std::move(name), size, dtype, use, std::nullopt, -1, -1});
  return BufferId{static_cast<int>(program_.buffers.size()) - 1};
}

BufferId ProgramBuilder::state(const StateSlot& slot, DType dtype, MemoryUse use) {
  if (states_.size() <= slot.param.at()) states_.resize(slot.param.at() + 1);
  BufferId& known = states_[slot.param.at()][static_cast<std::size_t>(slot.kind)];
  if (known.index < 0) {
    known = BufferId{static_cast<int>(program_.buffers.size())};
    program_.buffers.push_back(
        BufferSpec{{}, Elements(slot.rows.count * slot.cols), dtype, use, slot, -1, -1});
  }
  MUONBENCH_CHECK(program_[known].slot == slot, "{}: two slots of one kind", name_of(program_[known]));
  return known;
}

Region ProgramBuilder::whole(BufferId buffer) const {
  return Region{buffer, Elements(0), program_[buffer].size};
}

void ProgramBuilder::add(Phase phase, int queue, Work work) {
  program_.ops.push_back(Op{phase, queue, {}, std::move(work)});
  program_.queues = std::max(program_.queues, queue + 1);
}

void ProgramBuilder::add_before_step(Phase phase, Work work) {
  program_.before_step.push_back(Op{phase, 0, {}, std::move(work)});
  for (const BufferId id : access_of(program_.before_step.back()).writes)
    MUONBENCH_CHECK(program_[id].slot.has_value(), "{} does not live before the step", program_[id].name);
}

StepProgram ProgramBuilder::finish(Order order) {
  set_lifetimes(program_);
  for (const MemoryUse use : kTransientUses) program_.arenas[use] = lay_out_arena(program_, use);
  switch (order) {
    case Order::kDerived:
      follow_data(program_);
      follow_earlier_tenants(program_);
      follow_on_other_queues(program_);
      break;
    case Order::kLeftOut: break;
  }
  return std::move(program_);
}

}  // namespace muonbench
