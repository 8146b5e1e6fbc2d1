// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/op.h"

namespace muonbench {
namespace {

/// Collects what each kind of work touches.
struct AccessVisitor {
  Access access;

  /// Lists of many pieces name the same few buffers again and again: once in a row is enough.
  static void note(std::vector<BufferId>& ids, BufferId id) {
    if (ids.empty() || ids.back() != id) ids.push_back(id);
  }
  void read(BufferId buffer) { note(access.reads, buffer); }
  void write(BufferId buffer) { note(access.writes, buffer); }
  void read(const Region& region) { read(region.buffer); }
  void write(const Region& region) { write(region.buffer); }
  void update(const Region& region) {
    read(region);
    write(region);
  }
  void write_optional(const std::optional<Region>& region) {
    if (region) write(*region);
  }

  void operator()(const MomentumOp& op) {
    for (const MomentumItem& item : op.items) {
      update(item.gradient);  // l2 decay changes it
      update(item.master);
      update(item.momentum);
      write_optional(item.ns_input);
    }
  }
  void operator()(const CopyOp& op) {
    for (const Tile& tile : op.tiles) {
      read(tile.src);
      write(tile.dst);
    }
  }
  void operator()(const ZeroFillOp& op) {
    for (const Region& region : op.regions) write(region);
  }
  void operator()(const AllToAllOp& op) {
    read(op.send);
    write(op.receive);
    if (op.in_place.size > Elements(0)) note(access.beside, op.in_place.buffer);
  }
  void operator()(const AllGatherOp& op) {
    read(op.send);
    write(op.receive);
  }
  void operator()(const AllReduceOp& op) {
    for (const Region& region : op.regions) update(region);
  }
  void operator()(const ReduceScatterOp& op) {
    for (const ReduceScatterItem& item : op.items) {
      read(item.buffer);
      write(item.buffer);
    }
  }
  void operator()(const NewtonSchulzOp& op) {
    for (const NewtonSchulzItem& item : op.items) {
      read(item.in);
      write(item.out);
    }
    write(op.scratch);
  }
  void operator()(const NsSliceOp& op) {
    switch (op.part) {
      case NsPart::kSumOfSquares:
        for (const Region& matrix : op.data) read(matrix);
        write(op.sums);
        break;
      case NsPart::kNormalise:
        for (const Region& matrix : op.data) read(matrix);
        read(op.sums);
        write(op.scratch);
        break;
      case NsPart::kGram:
      case NsPart::kStep: update(op.scratch); break;
      case NsPart::kScaleOut:
        read(op.scratch);
        for (const Region& matrix : op.data) write(matrix);
        break;
    }
  }
  void operator()(const UpdateOp& op) {
    for (const UpdateItem& item : op.items) {
      read(item.update);
      update(item.master);
      write_optional(item.weight);
    }
  }
  void operator()(const AdamOp& op) {
    for (const AdamItem& item : op.items) {
      read(item.gradient);
      update(item.master);
      update(item.exp_avg);
      update(item.exp_avg_sq);
      write_optional(item.weight);
    }
  }
};

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::kMomentum: return "momentum";
    case Phase::kNsReplicated: return "ns_replicated";
    case Phase::kGather: return "gather";
    case Phase::kStage1Forward: return "stage1_forward";
    case Phase::kStage2Forward: return "stage2_forward";
    case Phase::kNs: return "ns";
    case Phase::kStage2Reverse: return "stage2_reverse";
    case Phase::kStage1Reverse: return "stage1_reverse";
    case Phase::kGramReduce: return "gram_reduce";
    case Phase::kUpdate: return "update";
    case Phase::kAdam: return "adam";
    case Phase::kParamGather: return "param_gather";
    case Phase::kGradReduce: return "grad_reduce";
  }
  return "";
}

bool is_exchange(Phase phase) {
  switch (phase) {
    case Phase::kGather:
    case Phase::kStage1Forward:
    case Phase::kStage2Forward:
    case Phase::kStage2Reverse:
    case Phase::kStage1Reverse: return true;
    case Phase::kMomentum:
    case Phase::kNsReplicated:
    case Phase::kNs:
    case Phase::kGramReduce:
    case Phase::kUpdate:
    case Phase::kAdam:
    case Phase::kParamGather:
    case Phase::kGradReduce: return false;
  }
  return false;
}

Access access_of(const Work& work) {
  AccessVisitor visitor;
  std::visit(visitor, work);
  return std::move(visitor.access);
}

std::optional<GroupKey> group_of(const Op& op) {
  if (const auto* all_to_all = std::get_if<AllToAllOp>(&op.work)) return all_to_all->group;
  if (const auto* all_gather = std::get_if<AllGatherOp>(&op.work)) return all_gather->group;
  if (const auto* all_reduce = std::get_if<AllReduceOp>(&op.work)) return all_reduce->group;
  if (const auto* reduce_scatter = std::get_if<ReduceScatterOp>(&op.work)) return reduce_scatter->group;
  return std::nullopt;
}

}  // namespace muonbench
