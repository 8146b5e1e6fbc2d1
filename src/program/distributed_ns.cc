// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/distributed_ns.h"

#include <utility>

#include "src/program/tiles.h"

namespace muonbench {
DistributedKind distributed_kind(const Emitter& emitter, ParamIndex p) {
  return {emitter.spec(p), emitter.inputs().splits.at(p.at())};
}

DistributedNs::DistributedNs(Emitter& emitter, DistributedWay way)
    : emitter_(emitter),
      way_(way),
      ranks_(emitter.inputs().grid.group_size(way.group)),
      travels_as_(emitter.inputs().ns.precision == MatmulPrecision::kMedium ? DType::kBf16 : DType::kFp32) {}

void DistributedNs::run(const std::vector<Region>& matrices, const HeldPart& held, const RowSplit& split,
                        Shape full) {
  if (split.is_whole()) return run_slices(matrices, held.shape(), full);
  for (std::size_t piece = 0; piece < split.pieces().size(); ++piece)
    run_piece(matrices, held, split, piece, full);
}

void DistributedNs::run_piece(const std::vector<Region>& matrices, const HeldPart& held,
                              const RowSplit& split, std::size_t piece, Shape full) {
  const RowPiece rows = held_rows(split, piece, held);
  const Shape shape{rows.rows(), held.cols};
  std::vector<Region> regions(matrices.size());
  CopyOp out, back;
  if (shape.rows > 0) {
    const auto count = static_cast<std::int64_t>(matrices.size());
    regions = Emitter::in_a_row(buffer("ns_pieces", shape.elements() * count, DType::kFp32), matrices.size(),
                                shape.elements());
    for (std::size_t i = 0; i < matrices.size(); ++i) {
      add_row_tiles(out.tiles, rows, held.cols, regions[i], matrices[i], Direction::kTakeApart);
      add_row_tiles(back.tiles, rows, held.cols, regions[i], matrices[i], Direction::kAssemble);
    }
    add(Phase::kNs, std::move(out));
  }
  run_slices(regions, shape, split.matrix_of_piece(piece, full));
  if (shape.rows > 0) add(Phase::kNs, std::move(back));
}

void DistributedNs::run_slices(const std::vector<Region>& data, Shape shape, Shape matrix) {
  const auto count = static_cast<std::int64_t>(data.size());
  const NsSlice slice{shape, way_.side};
  if (shape.elements() == Elements(0)) return run_empty(count, slice.gram_side());
  const NsScratchLayout layout = ns_scratch_layout(slice);
  const NsOptions& ns = emitter_.inputs().ns;
  NsSliceOp op{NsPart::kSumOfSquares,
               0,
               slice,
               matrix,
               data,
               buffer("ns_norms", Elements(count), DType::kFp32),
               buffer("ns_scratch", layout.total * count, ns.storage),
               way_.scaling};
  const auto add_part = [&](NsPart part, int step) {
    op.part = part;
    op.step = step;
    add(Phase::kNs, op);
  };
  std::vector<Region> grams;
  for (std::int64_t i = 0; i < count; ++i)
    grams.push_back(Emitter::part(op.scratch, layout.total * i + layout.gram,
                                  Elements(slice.gram_side() * slice.gram_side())));
  add_part(NsPart::kSumOfSquares, 0);
  sum_up({op.sums});
  add_part(NsPart::kNormalise, 0);
  for (int step = 0; step < std::ssize(ns.steps); ++step) {
    add_part(NsPart::kGram, step);
    sum_up_grams(grams);
    add_part(NsPart::kStep, step);
  }
  add_part(NsPart::kScaleOut, 0);
}

void DistributedNs::run_empty(std::int64_t count, std::int64_t gram_side) {
  const Region norms = buffer("ns_norms", Elements(count), DType::kFp32);
  add(Phase::kNs, ZeroFillOp{{norms}});
  sum_up({norms});
  const Elements square(gram_side * gram_side);
  const Region grams = buffer("ns_grams", square * count, travels_as_);
  for (std::size_t step = 0; step < emitter_.inputs().ns.steps.size(); ++step) {
    add(Phase::kNs, ZeroFillOp{{grams}});
    sum_up(Emitter::in_a_row(grams, static_cast<std::size_t>(count), square));
  }
}

void DistributedNs::sum_up(std::vector<Region> regions) {
  add(Phase::kGramReduce, AllReduceOp{way_.group, ranks_, std::move(regions)});
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
  add(Phase::kGramReduce, std::move(there));
  sum_up(parts);
  add(Phase::kGramReduce, std::move(back));
}

void DistributedNs::add(Phase phase, Work work) {
  emitter_.builder().add(phase, way_.queue, std::move(work));
}

Region DistributedNs::buffer(const char* name, Elements size, DType dtype) {
  return emitter_.transient(name, size, dtype, MemoryUse::kNsScratch);
}

}  // namespace muonbench
