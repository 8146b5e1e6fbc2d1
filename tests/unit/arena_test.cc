// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>

#include "tests/support/test_model.h"
#include <gtest/gtest.h>

namespace muonbench {
namespace {

/// Bytes that an op reads or writes: where they lie is a buffer of its own, or an arena.
struct Touch {
  int memory = 0;  ///< index of a persistent buffer, or -1 - use of an arena
  std::int64_t begin = 0, end = 0;
  enum class Kind { kRead, kWrite } kind = Kind::kRead;

  [[nodiscard]] bool conflicts_with(const Touch& other) const {
    return memory == other.memory && begin < other.end && other.begin < end &&
           (kind == Kind::kWrite || other.kind == Kind::kWrite);
  }
};

/// Everything that an op touches, from its own description: regions, tiles and segments.
class Touches {
 public:
  explicit Touches(const StepProgram& program) : program_(program) {}
  std::vector<Touch> of(const Op& op) {
    found_.clear();
    std::visit([this](const auto& work) { add(work); }, op.work);
    return found_;
  }

 private:
  void touch(BufferId id, Elements first, Elements count, Touch::Kind kind) {
    if (count == Elements(0)) return;
    const BufferSpec& buffer = program_[id];
    const std::int64_t base = buffer.slot ? 0 : program_.arenas.at(buffer.use).offsets.at(id).value();
    const std::int64_t begin = base + bytes_of(first, buffer.dtype).value();
    found_.push_back({buffer.slot ? id.index : -1 - static_cast<int>(buffer.use), begin,
                      begin + bytes_of(count, buffer.dtype).value(), kind});
  }
  void read(const Region& r) { touch(r.buffer, r.offset, r.size, Touch::Kind::kRead); }
  void write(const Region& r) { touch(r.buffer, r.offset, r.size, Touch::Kind::kWrite); }
  void write(const std::optional<Region>& r) {
    if (r) write(*r);
  }
  static Elements span(Shape shape, std::int64_t stride) {
    return Elements((shape.rows - 1) * stride + shape.cols);
  }

  void add(const MomentumOp& op) {
    for (const MomentumItem& item : op.items)
      for (const auto& r : {std::optional(item.gradient), std::optional(item.master),
                            std::optional(item.momentum), item.ns_input})
        write(r);
  }
  void add(const CopyOp& op) {
    for (const Tile& tile : op.tiles) {
      touch(tile.src, tile.src_offset, span(tile.shape, tile.src_stride), Touch::Kind::kRead);
      touch(tile.dst, tile.dst_offset, span(tile.shape, tile.dst_stride), Touch::Kind::kWrite);
    }
  }
  void add(const ZeroFillOp& op) {
    for (const Region& r : op.regions) write(r);
  }
  void add(const AllToAllOp& op) {
    for (const Segment& s : op.sends) touch(op.send, s.offset, s.size, Touch::Kind::kRead);
    for (const Segment& s : op.receives) touch(op.receive, s.offset, s.size, Touch::Kind::kWrite);
  }
  void add(const AllGatherOp& op) {
    read(op.send);
    for (const Segment& s : op.receives) touch(op.receive, s.offset, s.size, Touch::Kind::kWrite);
  }
  void add(const AllReduceOp& op) {
    for (const Region& r : op.regions) write(r);
  }
  void add(const ReduceScatterOp& op) {
    for (const ReduceScatterItem& item : op.items)
      for (const Segment& s : item.segments) touch(item.buffer, s.offset, s.size, Touch::Kind::kWrite);
  }
  void add(const NewtonSchulzOp& op) {
    for (const NewtonSchulzItem& item : op.items) {
      read(item.in);
      write(item.out);
    }
    write(op.scratch);
  }
  void add(const NsSliceOp& op) {
    const bool makes_sums = op.part == NsPart::kSumOfSquares, ends = op.part == NsPart::kScaleOut;
    for (const Region& matrix : op.data) {
      if (makes_sums || op.part == NsPart::kNormalise) read(matrix);
      if (ends) write(matrix);
    }
    if (makes_sums) write(op.sums);
    if (op.part == NsPart::kNormalise) read(op.sums);
    if (ends) read(op.scratch);
    if (!makes_sums && !ends) write(op.scratch);
  }
  void add(const UpdateOp& op) {
    for (const UpdateItem& item : op.items) {
      read(item.update);
      write(item.master);
      write(item.weight);
    }
  }
  void add(const AdamOp& op) {
    for (const AdamItem& item : op.items) {
      for (const Region& r : {item.gradient, item.master, item.exp_avg, item.exp_avg_sq}) write(r);
      write(item.weight);
    }
  }

  const StepProgram& program_;
  std::vector<Touch> found_;
};

template <class Check>
void for_programs_of(const TestModel& model, std::string_view mode, Check check) {
  const DomainShape domain = model.grid().domain(Family::kDense);
  int rank = 0;
  for (const StepProgram& program : model.programs(mode)) {
    SCOPED_TRACE(std::string(mode) + " on " + std::to_string(domain.gtp_remat) + " x " +
                 std::to_string(domain.tp) + ", rank " + std::to_string(rank++));
    check(program);
    if (testing::Test::HasFatalFailure()) return;
  }
}

/// layer_sharded in waves on queues of their own, which nothing but `after` keeps apart.
std::vector<ModelOptions> in_waves() {
  return {{.homes = any_homes(4),
           .queues = QueueUse::kConcurrent,
           .exchange = ExchangeWay::kFused,
           .return_dtype = DType::kBf16,
           .waves = 3},
          {.homes = any_homes(5, GtpOnlyHomes::kSingle), .queues = QueueUse::kConcurrent, .waves = 4}};
}

/// Every program of every mode on every domain, with homes, batches and ways to travel of several kinds.
template <class Check>
void for_every_program(Check check) {
  for (const DomainShape domain : all_domains()) {
    const GridShape grid = domain_grid(domain.gtp_remat, domain.tp);
    for (unsigned seed = 0; seed < 3; ++seed) {
      const TestModel model(seed < 2 ? mixed_params() : fused_params(), grid,
                            {.pad_for_alignment = 1 + 15 * seed,
                             .homes = any_homes(seed),
                             .ns_batch_size = 1 + static_cast<int>(seed % 2)});
      for (const Mode& mode : modes()) for_programs_of(model, mode.name, check);
    }
    for (const ModelOptions& options : in_waves())
      for_programs_of(TestModel(mixed_params(), grid, options), "layer_sharded", check);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Arena, BuffersThatLiveAtTheSameTimeNeverOverlap) {
  for_every_program([](const StepProgram& program) {
    for (const auto& [use, arena] : program.arenas) {
      for (const auto& [a, a_at] : arena.offsets) {
        ASSERT_EQ(a_at.value() % 256, 0) << program[a].name;
        for (const auto& [b, b_at] : arena.offsets) {
          const bool together =
              program[a].first_op <= program[b].last_op && program[b].first_op <= program[a].last_op;
          if (a == b || !together || program[a].bytes() == Bytes(0) || program[b].bytes() == Bytes(0))
            continue;
          ASSERT_TRUE(a_at + program[a].bytes() <= b_at || b_at + program[b].bytes() <= a_at)
              << program[a].name << " and " << program[b].name;
        }
      }
    }
  });
}

TEST(Arena, LivesLastFromTheFirstToTheLastOpThatTouchesABuffer) {
  for_every_program([](const StepProgram& program) {
    std::vector<std::set<int>> touching(program.buffers.size());
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      const Access access = access_of(program.ops[i]);
      for (const auto* ids : {&access.reads, &access.writes, &access.beside})
        for (const BufferId id : *ids)
          touching[static_cast<std::size_t>(id.index)].insert(static_cast<int>(i));
    }
    for (std::size_t b = 0; b < program.buffers.size(); ++b) {
      if (program.buffers[b].slot || touching[b].empty()) continue;
      ASSERT_EQ(program.buffers[b].first_op, *touching[b].begin()) << program.buffers[b].name;
      ASSERT_EQ(program.buffers[b].last_op, *touching[b].rbegin()) << program.buffers[b].name;
    }
  });
}

TEST(Arena, IsAsLargeAsItsFurthestBufferReachesAndHoldsAllThatLivesAtOnce) {
  for_every_program([](const StepProgram& program) {
    for (const MemoryUse use : kTransientUses) {
      const ArenaLayout& arena = program.arenas.at(use);
      Bytes furthest;
      std::vector<std::int64_t> live(program.ops.size(), 0);
      for (const auto& [id, at] : arena.offsets) {
        furthest = std::max(furthest, at + program[id].bytes());
        for (int op = program[id].first_op; op <= program[id].last_op; ++op)
          live[static_cast<std::size_t>(op)] += program[id].bytes().value();
      }
      ASSERT_EQ(arena.size, furthest);
      for (const std::int64_t bytes : live) ASSERT_LE(bytes, arena.size.value());
      ASSERT_EQ(ledger_of(program).of(use), arena.size);
    }
  });
}

TEST(Arena, EveryOpFollowsThoseWhoseBytesItReadsOrWrites) {
  for_every_program([](const StepProgram& program) {
    // Ops that are surely complete when op i begins: those in its `after`, and those before them.
    std::vector<std::set<int>> complete(program.ops.size());
    Touches touches(program);
    std::vector<std::vector<Touch>> touched;
    for (std::size_t i = 0; i < program.ops.size(); ++i) {
      for (const int before : program.ops[i].after) {
        ASSERT_LT(before, static_cast<int>(i));
        complete[i].insert(before);
        complete[i].insert(complete[static_cast<std::size_t>(before)].begin(),
                           complete[static_cast<std::size_t>(before)].end());
      }
      touched.push_back(touches.of(program.ops[i]));
      for (std::size_t j = 0; j < i; ++j) {
        const bool conflict = std::any_of(touched[i].begin(), touched[i].end(), [&](const Touch& mine) {
          return std::any_of(touched[j].begin(), touched[j].end(),
                             [&](const Touch& theirs) { return mine.conflicts_with(theirs); });
        });
        ASSERT_TRUE(!conflict || complete[i].contains(static_cast<int>(j)))
            << "op " << i << " (" << name_of(program.ops[i].phase) << ") may overtake op " << j << " ("
            << name_of(program.ops[j].phase) << ")";
      }
    }
  });
}

TEST(StepProgram, AWriteFollowsTheReadsAndWritesBeforeIt) {
  ProgramBuilder builder(NsOptions{});
  const auto buffer = [&](const char* name) {
    return builder.add_transient(name, Elements(4), DType::kFp32, MemoryUse::kExchange);
  };
  const BufferId a = buffer("a"), b = buffer("b"), c = buffer("c");
  const auto copy = [](BufferId from, BufferId to) {
    return CopyOp{{Tile{from, Elements(0), 4, to, Elements(0), 4, Shape{1, 4}}}};
  };
  builder.add(Phase::kUpdate, 0, ZeroFillOp{{builder.whole(a)}});
  builder.add(Phase::kUpdate, 0, copy(a, b));
  builder.add(Phase::kUpdate, 0, ZeroFillOp{{builder.whole(a)}});
  builder.add(Phase::kUpdate, 0, copy(b, c));
  const StepProgram program = builder.finish(Order::kDerived);
  EXPECT_EQ(program.ops[0].after, std::vector<int>{});
  EXPECT_EQ(program.ops[1].after, std::vector<int>{0});
  EXPECT_EQ(program.ops[2].after, (std::vector<int>{0, 1}));
  // c takes over a's memory or lies beside it; either way b must have been written.
  EXPECT_TRUE(std::count(program.ops[3].after.begin(), program.ops[3].after.end(), 1) == 1);
}

TEST(Arena, MemoryIsUsedAgainWithinAStep) {
  const TestModel model(mixed_params(), domain_grid(2, 2));
  std::int64_t arena = 0, sum = 0;
  for (const StepProgram& program : model.programs("duplicated")) {
    arena += program.arenas.at(MemoryUse::kExchange).size.value();
    for (const BufferSpec& buffer : program.buffers)
      if (buffer.use == MemoryUse::kExchange) sum += buffer.bytes().value();
  }
  // One weight at a time: the largest of eleven bounds the arena.
  EXPECT_LT(arena, sum / 3);
}

TEST(StepProgram, IsTheSameEachTimeItIsBuilt) {
  const TestModel model(mixed_params(), domain_grid(2, 2));
  for (const Mode& mode : modes()) {
    const auto once = model.programs(mode.name), again = model.programs(mode.name);
    for (std::size_t r = 0; r < once.size(); ++r) {
      ASSERT_EQ(once[r].ops.size(), again[r].ops.size());
      for (std::size_t i = 0; i < once[r].ops.size(); ++i) {
        EXPECT_EQ(once[r].ops[i].after, again[r].ops[i].after);
        EXPECT_EQ(once[r].ops[i].work.index(), again[r].ops[i].work.index());
      }
      ASSERT_EQ(once[r].buffers.size(), again[r].buffers.size());
      for (std::size_t b = 0; b < once[r].buffers.size(); ++b)
        EXPECT_EQ(once[r].buffers[b].name, again[r].buffers[b].name);
      for (const MemoryUse use : kTransientUses)
        EXPECT_EQ(once[r].arenas.at(use).offsets, again[r].arenas.at(use).offsets);
    }
  }
}

}  // namespace
}  // namespace muonbench
