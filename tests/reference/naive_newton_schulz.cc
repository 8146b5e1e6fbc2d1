// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/naive_newton_schulz.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>

namespace muonbench::reference {
namespace {

std::size_t cells(std::int64_t rows, std::int64_t cols) { return static_cast<std::size_t>(rows * cols); }

Matrix mapped(Matrix x, const std::function<double(double)>& f) {
  std::transform(x.values.begin(), x.values.end(), x.values.begin(), f);
  return x;
}

// first * x + second * y
Matrix combined(double first, const Matrix& x, double second, const Matrix& y) {
  Matrix sum(x.rows, x.cols);
  for (std::size_t i = 0; i < sum.values.size(); ++i)
    sum.values[i] = first * x.values[i] + second * y.values[i];
  return sum;
}

// Turns columns p and q until they are orthogonal; says how far they were from it.
double rotate_columns(Matrix& x, std::int64_t p, std::int64_t q) {
  double pp = 0, qq = 0, pq = 0;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    pp += x.at(row, p) * x.at(row, p);
    qq += x.at(row, q) * x.at(row, q);
    pq += x.at(row, p) * x.at(row, q);
  }
  if (pq == 0) return 0;
  const double zeta = (qq - pp) / (2 * pq);
  const double tangent = std::copysign(1.0, zeta) / (std::fabs(zeta) + std::sqrt(1 + zeta * zeta));
  const double cosine = 1 / std::sqrt(1 + tangent * tangent);
  const double sine = cosine * tangent;
  for (std::int64_t row = 0; row < x.rows; ++row) {
    const double u = x.at(row, p);
    const double v = x.at(row, q);
    x.at(row, p) = cosine * u - sine * v;
    x.at(row, q) = sine * u + cosine * v;
  }
  return std::fabs(pq) / std::sqrt(pp * qq);
}

}  // namespace

Matrix::Matrix(std::int64_t rows_, std::int64_t cols_)
    : rows(rows_), cols(cols_), values(cells(rows_, cols_)) {}
Matrix::Matrix(std::int64_t rows_, std::int64_t cols_, const std::vector<float>& values_)
    : rows(rows_), cols(cols_), values(values_.begin(), values_.end()) {}

double& Matrix::at(std::int64_t row, std::int64_t col) { return values.at(cells(row, cols) + cells(1, col)); }
double Matrix::at(std::int64_t row, std::int64_t col) const {
  return values.at(cells(row, cols) + cells(1, col));
}

Matrix Matrix::transposed() const {
  Matrix result(cols, rows);
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) result.at(col, row) = at(row, col);
  return result;
}

double Matrix::norm() const {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

Matrix product(const Matrix& left, const Matrix& right) {
  Matrix result(left.rows, right.cols);
  for (std::int64_t row = 0; row < left.rows; ++row)
    for (std::int64_t inner = 0; inner < left.cols; ++inner)
      for (std::int64_t col = 0; col < right.cols; ++col)
        result.at(row, col) += left.at(row, inner) * right.at(inner, col);
  return result;
}

Matrix newton_schulz(const Matrix& x, const std::vector<Polynomial>& steps, Arithmetic arithmetic) {
  if (x.rows > x.cols) return newton_schulz(x.transposed(), steps, arithmetic).transposed();
  const auto stored = [arithmetic](const Matrix& m) {
    return arithmetic == Arithmetic::kBf16 ? mapped(m, nearest_bf16) : m;
  };
  const double norm = std::max(x.norm(), 1e-15);
  Matrix iterate = stored(mapped(x, [norm](double value) { return value / norm; }));
  for (const Polynomial& step : steps) {
    const Matrix gram = stored(product(iterate, iterate.transposed()));
    const Matrix poly = stored(combined(step.b, gram, step.c, product(gram, gram)));
    iterate = stored(combined(step.a, iterate, 1, product(poly, iterate)));
  }
  return iterate;
}

double scalar_map(double sigma, const std::vector<Polynomial>& steps) {
  for (const Polynomial& step : steps)
    sigma = step.a * sigma + step.b * std::pow(sigma, 3) + step.c * std::pow(sigma, 5);
  return sigma;
}

std::vector<double> singular_values(const Matrix& x) {
  Matrix work = x.rows < x.cols ? x.transposed() : x;
  for (double off = 1; off > 1e-14;) {
    off = 0;
    for (std::int64_t p = 0; p < work.cols; ++p)
      for (std::int64_t q = p + 1; q < work.cols; ++q) off = std::max(off, rotate_columns(work, p, q));
  }
  std::vector<double> sigmas;
  for (std::int64_t col = 0; col < work.cols; ++col) {
    double sum = 0;
    for (std::int64_t row = 0; row < work.rows; ++row) sum += work.at(row, col) * work.at(row, col);
    sigmas.push_back(std::sqrt(sum));
  }
  std::sort(sigmas.begin(), sigmas.end(), std::greater<>());
  return sigmas;
}

double nearest_bf16(double value) {
  if (value == 0) return value;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(fraction, 8)), exponent - 8);
}

double relative_error(const Matrix& actual, const Matrix& expected) {
  return combined(1, actual, -1, expected).norm() / expected.norm();
}

}  // namespace muonbench::reference
