// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0

// What a walk asks of NS on slices, and of the sums between its parts.
#include <algorithm>

#include "tests/support/program_walk.h"

#include "src/base/text.h"

namespace muonbench {
namespace {

std::int64_t elements_of(const NsSliceOp& op) { return op.slice.shape.elements().value(); }

Region part_of(const NsSliceOp& op, std::size_t matrix, Elements offset, std::int64_t size) {
  const Elements total = ns_scratch_layout(op.slice).total;
  return {op.scratch.buffer, op.scratch.offset + total * static_cast<std::int64_t>(matrix) + offset,
          Elements(size)};
}

/// X before the step of `step`.
Region iterate_of(const NsSliceOp& op, std::size_t matrix, std::size_t step) {
  const NsScratchLayout layout = ns_scratch_layout(op.slice);
  return part_of(op, matrix, step % 2 == 0 ? layout.x : layout.next, elements_of(op));
}

void fill(const RankMemory::View& view, Id id) {
  for (std::int64_t i = 0; i < view.size(); ++i) view.set(i, id);
}

bool holds(const RankMemory::View& view, Id id) {
  for (std::int64_t i = 0; i < view.size(); ++i)
    if (view.get(i) != id) return false;
  return true;
}

void copy(const RankMemory::View& from, const RankMemory::View& to) {
  for (std::int64_t i = 0; i < to.size(); ++i) to.set(i, from.get(i));
}

}  // namespace

void ProgramWalk::apply(WorldRank r, const NsSliceOp& op) {
  const std::int64_t side = op.slice.gram_side();
  const NsScratchLayout layout = ns_scratch_layout(op.slice);
  require(elements_of(op) > 0, "a slice without elements");
  require(op.sums.size.value() == std::ssize(op.data), "not one sum of squares a matrix");
  require(op.scratch.size.value() >= layout.total.value() * std::ssize(op.data), "the scratch is too small");
  if (op.part == NsPart::kSumOfSquares) {
    slices_[index(r)] = {&op, {}};
    fill(memory(r).view(op.sums), kPartial);
  }
  if (op.part == NsPart::kNormalise)
    require(holds(memory(r).view(op.sums), kSummed), "a norm of this rank's slice alone");
  for (std::size_t i = 0; i < op.data.size(); ++i) {
    const RankMemory::View data = memory(r).view(op.data[i]);
    const RankMemory::View gram = memory(r).view(part_of(op, i, layout.gram, side * side));
    require(data.size() == elements_of(op), "a slice of another size than its shape");
    const auto step = static_cast<std::size_t>(op.step);
    switch (op.part) {
      case NsPart::kSumOfSquares: {
        std::vector<Id>& elements = slices_[index(r)].elements.emplace_back();
        for (std::int64_t k = 0; k < data.size(); ++k) elements.push_back(data.get(k));
        break;
      }
      case NsPart::kNormalise: copy(data, memory(r).view(iterate_of(op, i, 0))); break;
      case NsPart::kGram: fill(gram, kPartial); break;
      case NsPart::kStep:
        require(holds(gram, kSummed), "a Gram matrix of this rank's slice alone");
        copy(memory(r).view(iterate_of(op, i, step)), memory(r).view(iterate_of(op, i, step + 1)));
        fill(memory(r).view(iterate_of(op, i, step)), kGarbage);
        fill(gram, kGarbage);
        break;
      case NsPart::kScaleOut: {
        const RankMemory::View x = memory(r).view(iterate_of(op, i, program(r).ns.steps.size()));
        const Id mark = op.scaling == NsScaling::kByReceiver ? kUnscaled : kDone;
        for (std::int64_t k = 0; k < data.size(); ++k) data.set(k, x.get(k) + mark);
        ++ns_runs_[index(r)][param_of(x.get(0)).at()];
        break;
      }
    }
  }
}

void ProgramWalk::add_up(const std::vector<WorldRank>& members) {
  const auto regions_of = [&](WorldRank r) -> const std::vector<Region>& {
    return std::get<AllReduceOp>(next_op(r).work).regions;
  };
  const auto& first = std::get<AllReduceOp>(next_op(members[0]).work);
  for (const WorldRank r : members) {
    const auto& op = std::get<AllReduceOp>(next_op(r).work);
    require(op.ranks == static_cast<int>(members.size()), "a sum over another group");
    require(op.regions.size() == first.regions.size(), "sums of another number of regions");
    for (std::size_t i = 0; i < op.regions.size(); ++i) {
      const RankMemory::View view = memory(r).view(op.regions[i]);
      require(op.regions[i].size == first.regions[i].size, "sums of regions of other sizes");
      require(program(r)[op.regions[i].buffer].dtype == program(members[0])[first.regions[i].buffer].dtype,
              "sums of other numbers");
      require(holds(view, kPartial) || holds(view, kZero), "a sum of what is no rank's own part of it");
    }
  }
  std::size_t matrices_taken = 0;  // none between steps
  for (const WorldRank r : members)
    matrices_taken = std::max(matrices_taken, slices_[index(r)].elements.size());
  for (std::size_t i = 0; i < matrices_taken; ++i) require_whole_matrix(members, i);
  for (const WorldRank r : members) {
    slices_[index(r)].elements.clear();
    for (const Region& region : regions_of(r)) fill(memory(r).view(region), kSummed);
  }
}

void ProgramWalk::require_whole_matrix(const std::vector<WorldRank>& members, std::size_t i) {
  std::vector<Id> found;
  std::vector<Id> matrix;
  for (const WorldRank r : members) {
    const auto& [op, elements] = slices_[index(r)];
    if (elements.empty()) continue;  // no row of it
    const std::vector<Id>& slice = elements.at(i);
    found.insert(found.end(), slice.begin(), slice.end());
    for (const std::vector<Id>& one : matrices(r, param_of(slice.front())))
      if (std::find(one.begin(), one.end(), slice.front()) != one.end()) matrix = one;
    require_rows_of_matrix(slice, *op, matrix);
  }
  std::sort(found.begin(), found.end());
  std::sort(matrix.begin(), matrix.end());
  require(found == matrix,
          text("{} elements of slices are not the {} of the matrix", found.size(), matrix.size()));
}

/// Slices of rows may have them in any order; slices of columns have all rows, in the matrix's order.
void ProgramWalk::require_rows_of_matrix(const std::vector<Id>& slice, const NsSliceOp& op,
                                         const std::vector<Id>& matrix) {
  const ParamIndex p = param_of(slice.front());
  const std::int64_t full_cols = model_.params()[p].shape.cols, cols = op.slice.shape.cols;
  require(op.matrix == Shape{std::ssize(matrix) / full_cols, full_cols}, "a scale of another shape");
  for (std::int64_t k = 0; k < std::ssize(slice); ++k) {
    const Id id = slice[static_cast<std::size_t>(k)],
             row_begin = slice[static_cast<std::size_t>(k / cols * cols)];
    require(id == row_begin + k % cols, "a row with a gap");
    switch (op.slice.side) {
      case GramSide::kColumns:
        require(cols == full_cols && (row_begin - first_id_[p.at()]) % full_cols == 0, "a row that is cut");
        break;
      case GramSide::kRows: {
        require(op.slice.shape.rows == op.matrix.rows, "columns that are cut");
        const Id in_order = matrix[static_cast<std::size_t>(k / cols * full_cols)];
        require((row_begin - first_id_[p.at()]) / full_cols == (in_order - first_id_[p.at()]) / full_cols,
                "rows in another order");
        break;
      }
    }
  }
}

}  // namespace muonbench
