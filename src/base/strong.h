// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace muonbench {

/// Position of a rank in one kind of communicator. Ranks of different kinds do not convert into one another:
/// a rank of the tp axis passed where the gtp_remat axis is meant does not compile.
template <class Tag>
class Rank {
 public:
  constexpr Rank() = default;
  explicit constexpr Rank(int value) : value_(value) {}
  [[nodiscard]] constexpr int value() const { return value_; }
  friend constexpr auto operator<=>(Rank, Rank) = default;

 private:
  int value_ = 0;
};

using WorldRank = Rank<struct WorldTag>;     ///< rank in MPI_COMM_WORLD
using GtpRank = Rank<struct GtpRematTag>;    ///< g: index in the gtp_remat group
using TpRank = Rank<struct TpTag>;           ///< t: index in the tp group
using GroupRank = Rank<struct AnyGroupTag>;  ///< index in whatever process group the context names

/// A 64-bit count with a unit. Counts of different units do not mix; multiplying by a plain number keeps the
/// unit.
template <class Tag>
class Count {
 public:
  constexpr Count() = default;
  explicit constexpr Count(std::int64_t value) : value_(value) {}
  [[nodiscard]] constexpr std::int64_t value() const { return value_; }
  constexpr Count& operator+=(Count other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Count& operator-=(Count other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return Count(a.value_ + b.value_); }
  friend constexpr Count operator-(Count a, Count b) { return Count(a.value_ - b.value_); }
  friend constexpr Count operator*(Count a, std::int64_t times) { return Count(a.value_ * times); }
  friend constexpr Count operator*(std::int64_t times, Count a) { return Count(a.value_ * times); }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::int64_t value_ = 0;
};

using Elements = Count<struct ElementsTag>;  ///< matrix elements, whatever their dtype
using Bytes = Count<struct BytesTag>;

/// Index of a parameter in the model's ordered list; the same on every rank.
class ParamIndex {
 public:
  constexpr ParamIndex() = default;
  explicit constexpr ParamIndex(int value) : value_(value) {}
  [[nodiscard]] constexpr int value() const { return value_; }
  [[nodiscard]] constexpr std::size_t at() const { return static_cast<std::size_t>(value_); }
  friend constexpr auto operator<=>(ParamIndex, ParamIndex) = default;

 private:
  int value_ = 0;
};

}  // namespace muonbench

template <class Tag>
struct std::hash<muonbench::Rank<Tag>> {
  std::size_t operator()(muonbench::Rank<Tag> r) const noexcept { return std::hash<int>()(r.value()); }
};
