// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muonbench {

/// How ranks agree and report, outside every timed region; never the data plane. Collective: all ranks make
/// the same calls in the same order. May throw RuntimeFailure.
class ControlPlane {
 public:
  ControlPlane() = default;
  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  virtual ~ControlPlane() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  virtual void barrier() = 0;
  /// Rank 0's bytes, on every rank.
  [[nodiscard]] virtual std::string broadcast(const std::string& bytes) = 0;
  /// Every rank's bytes in rank order on rank 0; empty elsewhere.
  [[nodiscard]] virtual std::vector<std::string> gather(const std::string& bytes) = 0;
  /// Element-wise maximum over the ranks, on every rank; all give equally many values.
  [[nodiscard]] virtual std::vector<double> max(const std::vector<double>& values) = 0;
  /// True on every rank if all ranks gave the same value.
  [[nodiscard]] virtual bool same_everywhere(std::uint64_t value) = 0;
};

}  // namespace muonbench
