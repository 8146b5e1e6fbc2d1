// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "src/ns/ns_options.h"
#include "src/ns/schedule.h"

namespace muonbench {

/// Which Gram matrix of X is A: X X^T, as many numbers a side as X has rows, or X^T X, as many as it has
/// columns. The iterate is then a X + B X, or a X + X B.
enum class GramSide { kRows, kColumns };

/// What one rank holds of a matrix that is spread over a group: some of the columns (side kRows), or some of
/// the rows (side kColumns). The Gram matrices of all slices add up to that of the matrix.
struct NsSlice {
  Shape shape;
  GramSide side = GramSide::kRows;

  [[nodiscard]] std::int64_t gram_side() const { return side == GramSide::kRows ? shape.rows : shape.cols; }
  /// Over which the products of a Gram matrix sum.
  [[nodiscard]] std::int64_t length() const { return side == GramSide::kRows ? shape.cols : shape.rows; }
  friend auto operator<=>(const NsSlice&, const NsSlice&) = default;
};

/// A matrix that is whole, with the smaller of its Gram matrices.
[[nodiscard]] constexpr NsSlice whole_slice(Shape matrix) {
  return {matrix, matrix.rows > matrix.cols ? GramSide::kColumns : GramSide::kRows};
}

/// The parts between which ranks add up what they have. One that holds a matrix alone does them in one go.
enum class NsPart {
  kSumOfSquares,  ///< of the input, for the norm
  kNormalise,     ///< X <- input / max(norm, smallest norm)
  kGram,          ///< A <- X X^T, or X^T X
  kStep,          ///< B <- b A + c A A, X <- a X + B X, or a X + X B
  kScaleOut,      ///< output <- X * scale_factor * extra_scale_factor
};

/// Rows of 16-bit matrices that backend cuda multiplies by halves are a multiple of so many numbers: 16
/// bytes.
inline constexpr std::int64_t kSymmetricSides = 8;
/// Whether that backend can compute one triangle of A alone and mirror it; otherwise it mirrors a whole A.
[[nodiscard]] inline bool has_halves(const NsSlice& slice) {
  return slice.length() > 0 && slice.shape.cols % kSymmetricSides == 0 &&
         slice.gram_side() % kSymmetricSides == 0;
}
/// Whether A is multiplied whole though syrk or gram, not auto, is asked for.
[[nodiscard]] inline bool multiplied_whole(const NsSlice& slice, const NsOptions& options) {
  return takes_halves(options.algorithm) && options.storage != DType::kFp32 && !has_halves(slice);
}

/// `options` with the algorithm that auto stands for, a function of the batch that is multiplied together.
/// gram where it has a tenth fewer operations than syrk as the device carries them out, otherwise syrk; on a
/// GPU gemm in fp32, without has_halves(), and where the triangles of a batch are too few tiles for its
/// multiprocessors. A slice, whose Gram matrices are added up in each step, is never iterated by gram. Others
/// are left alone.
[[nodiscard]] NsOptions resolved(NsOptions options, const NsShape& batch);
[[nodiscard]] NsOptions resolved(NsOptions options, const NsSlice& slice, int count);

/// Where X, its successor, A, B and what gram takes besides lie; as of ns_scratch_layout(Shape) for a
/// whole_slice.
[[nodiscard]] NsScratchLayout ns_scratch_layout(const NsSlice& slice,
                                                NsAlgorithm algorithm = NsAlgorithm::kGemm);

/// Floating point operations of a part on one slice, counted as ns_flops does: of a whole_slice, those of
/// kGram and kStep over all steps add up to ns_flops, unless by gram. `step`: of kGram and kStep.
[[nodiscard]] std::int64_t ns_part_flops(NsPart part, const NsSlice& slice, const NsCoefficients& step,
                                         NsAlgorithm algorithm);

/// As ns_cost: side^2 * length.
[[nodiscard]] std::int64_t ns_cost(const NsSlice& slice);

}  // namespace muonbench
