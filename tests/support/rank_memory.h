// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "src/program/program.h"

namespace muonbench {

/// What a walk found wrong: rank, op and place.
class WalkError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What stands for an element: which parameter, row and column it is. NS and updates add kDone; NS that
/// leaves the scale to receivers adds kUnscaled.
using Id = std::int64_t;
inline constexpr Id kZero = -1;     ///< a pad
inline constexpr Id kGarbage = -2;  ///< memory that nobody has written since its buffer began to live
inline constexpr Id kPartial = -3;  ///< a number that is yet to be added up over a group
inline constexpr Id kSummed = -4;   ///< and one that was
inline constexpr Id kDone = Id{1} << 40;
inline constexpr Id kUnscaled = Id{1} << 41;

/// One rank's memory: persistent buffers apart, transient ones where the arenas put them, so that buffers
/// which wrongly share memory spoil one another.
class RankMemory {
 public:
  explicit RankMemory(const StepProgram& program);

  class View {
   public:
    View(Id* base, std::int64_t stride, std::int64_t size) : base_(base), stride_(stride), size_(size) {}
    [[nodiscard]] std::int64_t size() const { return size_; }
    [[nodiscard]] Id get(std::int64_t i) const { return base_[checked(i) * stride_]; }
    void set(std::int64_t i, Id id) const {
      base_[checked(i) * stride_] = id;
      for (std::int64_t k = 1; k < stride_; ++k) base_[i * stride_ + k] = kGarbage;
    }

   private:
    [[nodiscard]] std::int64_t checked(std::int64_t i) const {
      if (i < 0 || i >= size_)
        throw WalkError("element " + std::to_string(i) + " of " + std::to_string(size_));
      return i;
    }
    Id* base_;
    std::int64_t stride_, size_;
  };
  [[nodiscard]] View view(BufferId buffer);
  [[nodiscard]] View view(const Region& region);
  /// Makes buffers that begin to live at `op` hold garbage.
  void begin_lives(int op);

 private:
  const StepProgram& program_;
  std::vector<std::vector<Id>> persistent_;
  std::map<MemoryUse, std::vector<Id>> arenas_;
};

}  // namespace muonbench
