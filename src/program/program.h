// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/program/op.h"

namespace muonbench {

/// A persistent array of one parameter on one rank. Weights and gradients cover the shard, pads included;
/// master, momentum and Adam moments cover the rows for which the rank keeps state.
enum class StateKind { kWeight, kMaster, kMomentum, kExpAvg, kExpAvgSq, kGradient };
inline constexpr int kStateKindCount = static_cast<int>(StateKind::kGradient) + 1;

struct StateSlot {
  ParamIndex param;
  StateKind kind = StateKind::kWeight;
  Range rows;                 ///< rows of the shard that the buffer holds
  std::int64_t cols = 0;      ///< of the shard
  std::int64_t pad_rows = 0;  ///< how many of `rows`, at their end, are pads
  friend auto operator<=>(const StateSlot&, const StateSlot&) = default;
};

/// Persistent buffers live as long as the program is bound; transient ones from their first to their last op,
/// those included that they are beside.
struct BufferSpec {
  std::string name;  ///< of a transient buffer; a persistent one is known by its slot
  Elements size;
  DType dtype = DType::kFp32;
  MemoryUse use = MemoryUse::kExchange;
  std::optional<StateSlot> slot;  ///< set exactly for persistent buffers
  int first_op = -1;              ///< a transient buffer's life, set by finish()
  int last_op = -1;

  [[nodiscard]] Bytes bytes() const { return bytes_of(size, dtype); }
};
[[nodiscard]] std::string name_of(const BufferSpec& buffer);

/// Transient buffers of one use placed in one arena: offset per buffer (bytes, 256-aligned) and the arena's
/// size. Buffers whose lifetimes overlap do not overlap in memory; nor do those of different queues, a
/// buffer's queue being that of its first op. The smaller of two layouts: first fit from the step's begin on,
/// and from its end.
struct ArenaLayout {
  std::map<BufferId, Bytes> offsets;
  Bytes size;
};

/// Which ranks report a parameter's rows for the whole model: one of those that keep equal rows.
enum class Counted { kHere, kElsewhere };

/// The rows of one parameter for which this rank keeps optimizer state, and its fp32 master copy of them (the
/// weight itself where weights are fp32).
struct KeptState {
  ParamIndex param;
  Range rows;             ///< true rows of the shard, pads excluded
  std::int64_t cols = 0;  ///< of the shard
  Region master;          ///< rows x cols
  Region weight;          ///< the whole shard, in the weights' dtype
  Counted counted = Counted::kHere;
};

/// One rank's optimizer step: what is computed, moved and kept, in what order. Pure data: any process can
/// build it for any rank of any domain.
struct StepProgram {
  std::vector<BufferSpec> buffers;
  std::vector<Op> ops;
  /// Makes gradients final, before the step and outside of it: collectives on persistent buffers, carried out
  /// one after the other. They are no part of what is counted for a step.
  std::vector<Op> before_step;
  std::vector<KeptState> kept;              ///< per parameter that this rank holds, in model order
  std::map<MemoryUse, ArenaLayout> arenas;  ///< of the transient uses, set by finish()
  NsOptions ns;
  int queues = 1;

  [[nodiscard]] const BufferSpec& operator[](BufferId id) const {
    return buffers[static_cast<std::size_t>(id.index)];
  }
};

/// What a step costs on one rank. Payload that leaves or enters the rank; its own block not counted.
struct StepCounts {
  std::int64_t collectives = 0;
  Bytes sent, received;
  std::int64_t ns_calls = 0, ns_whole = 0;  ///< matrices, not batches; whole: multiplied_whole()
  std::array<std::int64_t, kNsAlgorithmsThatRun> ns_calls_by{};  ///< by NsAlgorithm
  std::int64_t ns_flops = 0, ns_cost = 0;                        ///< cost: sum of max * min^2 over ns_calls
  // Of the phases that bring shards to where NS runs and back, param_gather excluded.
  Bytes exchange_wire;    ///< the larger of sent and received
  Bytes exchange_buffer;  ///< sent, own blocks included
};
[[nodiscard]] StepCounts count_step(const StepProgram& program, const RankGrid& grid, WorldRank rank);
[[nodiscard]] StepCounts count_before_step(const StepProgram& program, const RankGrid& grid, WorldRank rank);

/// Bytes a collective op sends and receives on `rank`; zero for local work.
struct WireBytes {
  Bytes sent, received;
};
[[nodiscard]] WireBytes wire_bytes(const StepProgram& program, const Op& op, GroupRank me);

/// Transient buffers of one use that some op touches, in order of their first op.
[[nodiscard]] std::vector<BufferId> arena_buffers_by_first_op(const StepProgram& program, MemoryUse use);
[[nodiscard]] ArenaLayout lay_out_arena(const StepProgram& program, MemoryUse use);

/// Exact bytes that the bound program holds, by use; transient uses are their arenas' sizes.
struct MemoryLedger {
  std::map<MemoryUse, Bytes> by_use;
  Bytes pads;  ///< part of master + momentum that is pad rows

  [[nodiscard]] Bytes of(MemoryUse use) const;
  [[nodiscard]] Bytes state() const;  ///< master + momentum + adam
  [[nodiscard]] Bytes peak() const;   ///< all uses together
};
[[nodiscard]] MemoryLedger ledger_of(const StepProgram& program);

/// Whether ops are told what they must follow. Costs do not depend on it, and it is much of the work.
enum class Order { kDerived, kLeftOut };

/// Builds a StepProgram op by op. Adding a buffer or an op never reorders what is there.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(NsOptions ns) { program_.ns = std::move(ns); }

  /// Makes room for the states of so many parameters, and for an op for each.
  void expect(std::size_t params);

  BufferId add_transient(std::string name, Elements size, DType dtype, MemoryUse use);
  /// The buffer of a slot, created at the first call; a parameter has one slot of a kind.
  BufferId state(const StateSlot& slot, DType dtype, MemoryUse use);
  void add(Phase phase, int queue, Work work);
  void add_before_step(Phase phase, Work work);  ///< work on persistent buffers alone
  void keep(KeptState kept) { program_.kept.push_back(kept); }
  [[nodiscard]] Region whole(BufferId buffer) const;

  /// Computes lifetimes, arenas and `after`: read after write, write after read and write after write per
  /// buffer, the first use of memory after the last use of the buffers that had it before, and collectives
  /// of one communicator on different queues one after the other.
  [[nodiscard]] StepProgram finish(Order order);

 private:
  StepProgram program_;
  std::vector<std::array<BufferId, kStateKindCount>> states_;  ///< by parameter and kind
};

}  // namespace muonbench
