// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/even_part.h"
#include "src/ns/ns_slice.h"
#include "src/ns/schedule.h"
#include "src/program/program.h"

namespace muonbench {
namespace {

Elements sum_of(const std::vector<Segment>& segments) {
  Elements sum;
  for (const Segment& segment : segments) sum += segment.size;
  return sum;
}

Elements with_others(const std::vector<Segment>& segments, GroupRank me) {
  return sum_of(segments) - segments[static_cast<std::size_t>(me.value())].size;
}

/// Sums made of even parts at their ranks, and gathered.
WireBytes wire_of(const AllReduceOp& op, GroupRank me, DType dtype) {
  Elements total;
  for (const Region& region : op.regions) total += region.size;
  const Elements mine(even_part(total.value(), op.ranks, me.value()));
  const Bytes each_way = bytes_of((total - mine) + mine * (op.ranks - 1), dtype);
  return {each_way, each_way};
}

WireBytes wire_of(const ReduceScatterOp& op, GroupRank me) {
  Elements sent, received;
  for (const ReduceScatterItem& item : op.items) {
    const Elements others = with_others(item.segments, me);
    sent += others;
    received += (sum_of(item.segments) - others) * (static_cast<std::int64_t>(item.segments.size()) - 1);
  }
  return {bytes_of(sent, DType::kFp32), bytes_of(received, DType::kFp32)};
}

/// What an op puts on the wire and into its own block together.
Bytes sent_with_own_block(const StepProgram& program, const Op& op) {
  if (const auto* all_to_all = std::get_if<AllToAllOp>(&op.work))
    return bytes_of(sum_of(all_to_all->sends) + all_to_all->in_place.size, program[all_to_all->send].dtype);
  if (const auto* all_gather = std::get_if<AllGatherOp>(&op.work)) {
    const auto ranks = static_cast<std::int64_t>(all_gather->receives.size());
    return bytes_of(all_gather->send.size * ranks, program[all_gather->send.buffer].dtype);
  }
  return {};
}

/// A matrix of which a rank has a slice is one that it runs NS on; the first part that needs the slice counts
/// it.
void add_part(const NsSliceOp& op, const NsOptions& asked, StepCounts& counts) {
  const NsOptions options = resolved(asked, op.slice, static_cast<int>(op.data.size()));
  const auto matrices = static_cast<std::int64_t>(op.data.size());
  const NsCoefficients& step = options.steps.at(static_cast<std::size_t>(op.step));
  counts.ns_flops += matrices * ns_part_flops(op.part, op.slice, step, options.algorithm);
  if (op.part != NsPart::kNormalise) return;
  counts.ns_calls += matrices;
  counts.ns_calls_by.at(static_cast<std::size_t>(options.algorithm)) += matrices;
  counts.ns_whole += multiplied_whole(op.slice, options) ? matrices : 0;
  counts.ns_cost += matrices * ns_cost(op.slice);
}

StepCounts count(const StepProgram& program, const std::vector<Op>& ops, const RankGrid& grid,
                 WorldRank rank) {
  StepCounts counts;
  WireBytes exchange;
  for (const Op& op : ops) {
    if (const auto group = group_of(op)) {
      const WireBytes wire = wire_bytes(program, op, grid.index_in_group(*group, rank));
      counts.collectives += 1;
      counts.sent += wire.sent;
      counts.received += wire.received;
      if (is_exchange(op.phase)) {
        exchange.sent += wire.sent;
        exchange.received += wire.received;
        counts.exchange_buffer += sent_with_own_block(program, op);
      }
    }
    if (const auto* ns = std::get_if<NewtonSchulzOp>(&op.work)) {
      const auto matrices = static_cast<std::int64_t>(ns->items.size());
      const NsOptions options = resolved(program.ns, {ns->matrix, static_cast<int>(matrices)});
      counts.ns_calls += matrices;
      counts.ns_calls_by.at(static_cast<std::size_t>(options.algorithm)) += matrices;
      counts.ns_whole += multiplied_whole(whole_slice(ns->matrix), options) ? matrices : 0;
      counts.ns_flops += matrices * ns_flops(ns->matrix, options);
      counts.ns_cost += matrices * ns_cost(ns->matrix);
    }
    if (const auto* part = std::get_if<NsSliceOp>(&op.work)) add_part(*part, program.ns, counts);
  }
  counts.exchange_wire = std::max(exchange.sent, exchange.received);
  return counts;
}

}  // namespace

WireBytes wire_bytes(const StepProgram& program, const Op& op, GroupRank me) {
  if (const auto* all_to_all = std::get_if<AllToAllOp>(&op.work)) {
    return {bytes_of(with_others(all_to_all->sends, me), program[all_to_all->send].dtype),
            bytes_of(with_others(all_to_all->receives, me), program[all_to_all->receive].dtype)};
  }
  if (const auto* all_gather = std::get_if<AllGatherOp>(&op.work)) {
    const auto peers = static_cast<std::int64_t>(all_gather->receives.size()) - 1;
    return {bytes_of(all_gather->send.size * peers, program[all_gather->send.buffer].dtype),
            bytes_of(with_others(all_gather->receives, me), program[all_gather->receive].dtype)};
  }
  if (const auto* all_reduce = std::get_if<AllReduceOp>(&op.work))
    return wire_of(*all_reduce, me, program[all_reduce->regions.front().buffer].dtype);
  if (const auto* reduce_scatter = std::get_if<ReduceScatterOp>(&op.work))
    return wire_of(*reduce_scatter, me);
  return {};
}

StepCounts count_step(const StepProgram& program, const RankGrid& grid, WorldRank rank) {
  return count(program, program.ops, grid, rank);
}

StepCounts count_before_step(const StepProgram& program, const RankGrid& grid, WorldRank rank) {
  return count(program, program.before_step, grid, rank);
}

}  // namespace muonbench
