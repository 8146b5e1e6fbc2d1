// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

/// Newton-Schulz written down once more, slowly and plainly, as the oracle of tests. Shares no code with src.
namespace muonbench::reference {

/// Row-major.
struct Matrix {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::vector<double> values;

  Matrix(std::int64_t rows_, std::int64_t cols_);
  Matrix(std::int64_t rows_, std::int64_t cols_, const std::vector<float>& values_);
  [[nodiscard]] double& at(std::int64_t row, std::int64_t col);
  [[nodiscard]] double at(std::int64_t row, std::int64_t col) const;
  [[nodiscard]] Matrix transposed() const;
  [[nodiscard]] double norm() const;
};

[[nodiscard]] Matrix product(const Matrix& left, const Matrix& right);

/// Coefficients (a, b, c) of one step.
struct Polynomial {
  double a, b, c;
};

/// kExact: everything in double. kBf16: the normalised X, and A, B and the new X of each step rounded to 8
/// significant bits; sums and epilogues in double.
enum class Arithmetic { kExact, kBf16 };

/// Without scale factors.
[[nodiscard]] Matrix newton_schulz(const Matrix& x, const std::vector<Polynomial>& steps,
                                   Arithmetic arithmetic);

/// What the steps make of one singular value.
[[nodiscard]] double scalar_map(double sigma, const std::vector<Polynomial>& steps);

/// Descending, by one-sided Jacobi rotations.
[[nodiscard]] std::vector<double> singular_values(const Matrix& x);

/// To nearest, ties to even, 8 significant bits. For numbers that are normal in fp32.
[[nodiscard]] double nearest_bf16(double value);

/// Frobenius norm of the difference over that of `expected`.
[[nodiscard]] double relative_error(const Matrix& actual, const Matrix& expected);

}  // namespace muonbench::reference
