// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/distributed_ns.h"

#include <utility>

#include "src/program/tiles.h"

namespace muonbench {
DistributedNs::DistributedNs(Emitter& emitter, GroupKey group, GramSide side)
    : emitter_(emitter),
      group_(group),
      ranks_(emitter.inputs().grid.group_size(group)),
      side_(side),
      travels_as_(emitter.inputs().ns.precision == MatmulPrecision::kMedium ? DType::kBf16 : DType::kFp32) {}

void DistributedNs::run(const std::vector<Region>& data, Shape shape, Shape matrix) {
  const auto count = static_cast<std::int64_t>(data.size());
  const NsSlice slice{shape, side_};
  if (shape.elements() == Elements(0)) return run_empty(count, slice.gram_side());
  const NsScratchLayout layout = ns_scratch_layout(slice);
  const NsOptions& ns = emitter_.inputs().ns;
  NsSliceOp op{NsPart::kSumOfSquares,
               0,
               slice,
               matrix,
               data,
               buffer("ns_norms", Elements(count), DType::kFp32),
               buffer("ns_scratch", layout.total * count, ns.storage)};
  const auto add = [&](NsPart part, int step) {
    op.part = part;
    op.step = step;
    emitter_.builder().add(Phase::kNs, 0, op);
  };
  std::vector<Region> grams;
  for (std::int64_t i = 0; i < count; ++i)
    grams.push_back(Emitter::part(op.scratch, layout.total * i + layout.gram,
                                  Elements(slice.gram_side() * slice.gram_side())));
  add(NsPart::kSumOfSquares, 0);
  sum_up({op.sums});
  add(NsPart::kNormalise, 0);
  for (int step = 0; step < std::ssize(ns.steps); ++step) {
    add(NsPart::kGram, step);
    sum_up_grams(grams);
    add(NsPart::kStep, step);
  }
  add(NsPart::kScaleOut, 0);
}

void DistributedNs::run_empty(std::int64_t count, std::int64_t gram_side) {
  const Region norms = buffer("ns_norms", Elements(count), DType::kFp32);
  emitter_.builder().add(Phase::kNs, 0, ZeroFillOp{{norms}});
  sum_up({norms});
  const Elements square(gram_side * gram_side);
  const Region grams = buffer("ns_grams", square * count, travels_as_);
  for (std::size_t step = 0; step < emitter_.inputs().ns.steps.size(); ++step) {
    emitter_.builder().add(Phase::kNs, 0, ZeroFillOp{{grams}});
    sum_up(Emitter::in_a_row(grams, static_cast<std::size_t>(count), square));
  }
}

void DistributedNs::sum_up(std::vector<Region> regions) {
  emitter_.builder().add(Phase::kGramReduce, 0, AllReduceOp{group_, ranks_, std::move(regions)});
}

/// A device that keeps bf16 values in fp32 converts them for the way, which changes none.
void DistributedNs::sum_up_grams(const std::vector<Region>& grams) {
  if (emitter_.inputs().ns.storage == travels_as_) return sum_up(grams);
  const Elements each = grams.front().size;
  const Region travels = buffer("ns_grams", each * static_cast<std::int64_t>(grams.size()), travels_as_);
  const std::vector<Region> parts = Emitter::in_a_row(travels, grams.size(), each);
  CopyOp there, back;
  for (std::size_t i = 0; i < grams.size(); ++i) {
    add_region_tile(there.tiles, grams[i], parts[i]);
    add_region_tile(back.tiles, parts[i], grams[i]);
  }
  emitter_.builder().add(Phase::kGramReduce, 0, std::move(there));
  sum_up(parts);
  emitter_.builder().add(Phase::kGramReduce, 0, std::move(back));
}

Region DistributedNs::buffer(const char* name, Elements size, DType dtype) {
  return emitter_.transient(name, size, dtype, MemoryUse::kNsScratch);
}

}  // namespace muonbench
