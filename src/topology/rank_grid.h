// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "src/base/strong.h"

namespace muonbench {

/// A rank's place in a domain.
struct DomainPlace {
  GtpRank g;
  TpRank t;
  friend constexpr auto operator<=>(const DomainPlace&, const DomainPlace&) = default;
};

/// The ranks that share NS work on one parameter: GTP_remat x TP. Index in the domain: g * tp + t (tp varies
/// fastest), which is that in the process group over both axes.
struct DomainShape {
  int gtp_remat = 1;
  int tp = 1;
  [[nodiscard]] constexpr int size() const { return gtp_remat * tp; }
  [[nodiscard]] constexpr int index_of(DomainPlace place) const {
    return place.g.value() * tp + place.t.value();
  }
  [[nodiscard]] constexpr DomainPlace place_at(int index) const {
    return {GtpRank(index / tp), TpRank(index % tp)};
  }
  friend constexpr auto operator<=>(const DomainShape&, const DomainShape&) = default;
};

/// Dense parameters and routed experts live on two grids over the same world ranks.
enum class Family { kDense, kExpert };

/// Sizes of all axes. Rank order, left-most axis fastest:
///   dense:  rank = t  + tp*(g  + gtp_remat*(dp + DP*pp))
///   expert: rank = et + expert_tp*(ep + EP*(eg + expert_gtp_remat*(edp + EDP*pp)))
/// EDP = world / (expert_tp * ep * expert_gtp_remat * pp).
struct GridShape {
  int tp = 1, gtp_remat = 1, dp = 1, pp = 1;
  int ep = 1, expert_tp = 1, expert_gtp_remat = 1;

  [[nodiscard]] std::int64_t world_size() const {
    return static_cast<std::int64_t>(tp) * gtp_remat * dp * pp;
  }
  friend auto operator<=>(const GridShape&, const GridShape&) = default;
};

/// One rank's coordinates on one grid. dp is the replicate index; ep is 0 on the dense grid.
struct Coordinates {
  DomainPlace place;
  int ep = 0;
  int dp = 0;
  int pp = 0;
};

/// A set of axes along which a process group extends.
class AxisSet {
 public:
  enum Axis : std::uint8_t { kTp = 1, kGtpRemat = 2, kDp = 4 };
  constexpr AxisSet() = default;
  constexpr AxisSet(std::initializer_list<Axis> axes) {
    for (const Axis a : axes) bits_ = static_cast<std::uint8_t>(bits_ | a);
  }
  [[nodiscard]] constexpr bool has(Axis a) const { return (bits_ & a) != 0; }
  [[nodiscard]] constexpr bool empty() const { return bits_ == 0; }
  [[nodiscard]] constexpr AxisSet with(Axis a) const {
    AxisSet copy = *this;
    copy.bits_ = static_cast<std::uint8_t>(copy.bits_ | a);
    return copy;
  }
  [[nodiscard]] constexpr std::uint8_t bits() const { return bits_; }
  friend constexpr auto operator<=>(AxisSet, AxisSet) = default;

 private:
  std::uint8_t bits_ = 0;
};

/// Every non-empty set of axes, in one fixed order.
[[nodiscard]] constexpr std::array<AxisSet, 7> all_axis_sets() {
  using enum AxisSet::Axis;
  return {AxisSet{kTp},      AxisSet{kGtpRemat},      AxisSet{kTp, kGtpRemat},     AxisSet{kDp},
          AxisSet{kTp, kDp}, AxisSet{kGtpRemat, kDp}, AxisSet{kTp, kGtpRemat, kDp}};
}

/// Names one process group per rank: the ranks of its grid that differ from it on the axes of the set alone.
struct GroupKey {
  Family family = Family::kDense;
  AxisSet axes;
  friend constexpr auto operator<=>(const GroupKey&, const GroupKey&) = default;
};

/// "gtp_remat", "tp", "gtp_remat x tp", "expert tp", ...
[[nodiscard]] std::string name_of(GroupKey key);

/// Pure arithmetic between world ranks and coordinates; no MPI.
class RankGrid {
 public:
  /// Throws ConfigError naming both grids' factors if the expert grid does not divide the world.
  explicit RankGrid(GridShape shape);

  [[nodiscard]] const GridShape& shape() const { return shape_; }
  [[nodiscard]] int world_size() const { return static_cast<int>(shape_.world_size()); }
  [[nodiscard]] DomainShape domain(Family family) const;
  [[nodiscard]] int data_parallel(Family family) const;  ///< replicas of each parameter: dp, or expert dp
  [[nodiscard]] Coordinates coordinates(Family family, WorldRank rank) const;
  [[nodiscard]] WorldRank rank_at(Family family, const Coordinates& at) const;

  /// Members of the group that `rank` belongs to, in world-rank order. A member's index is its GroupRank.
  [[nodiscard]] std::vector<WorldRank> members(GroupKey key, WorldRank rank) const;
  [[nodiscard]] GroupRank index_in_group(GroupKey key, WorldRank rank) const;
  /// Of the rank at these coordinates, of the grid of the key's family.
  [[nodiscard]] GroupRank index_in_group(GroupKey key, const Coordinates& at) const;
  [[nodiscard]] int group_size(GroupKey key) const;
  /// The key without axes of one rank: keys that name equal groups become equal.
  [[nodiscard]] GroupKey canonical(GroupKey key) const;

 private:
  /// The factors of one family's world size, in rank order: t, then ep (1 on the dense grid), g, dp, pp.
  struct Factors {
    int tp = 1, ep = 1, gtp_remat = 1, dp = 1, pp = 1;
  };
  [[nodiscard]] const Factors& factors_of(Family family) const {
    return family == Family::kDense ? dense_ : expert_;
  }

  GridShape shape_;
  Factors dense_, expert_;
};

}  // namespace muonbench
