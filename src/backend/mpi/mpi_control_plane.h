// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/backend/control_plane.h"
#include "src/backend/mpi/mpi_runtime.h"

namespace muonbench {

/// The control plane over MPI_COMM_WORLD, on every backend.
class MpiControlPlane final : public ControlPlane {
 public:
  explicit MpiControlPlane(const MpiRuntime& runtime) : runtime_(runtime) {}
  [[nodiscard]] int rank() const override { return runtime_.rank().value(); }
  [[nodiscard]] int size() const override { return runtime_.size(); }
  void barrier() override { runtime_.barrier(); }
  [[nodiscard]] std::string broadcast(const std::string& bytes) override { return runtime_.broadcast(bytes); }
  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes) override {
    return runtime_.gather(bytes);
  }
  [[nodiscard]] std::vector<double> max(const std::vector<double>& values) override {
    return runtime_.all_reduce(values, Reduction::kMax);
  }
  [[nodiscard]] bool same_everywhere(std::uint64_t value) override {
    return runtime_.all_reduce(value, Reduction::kMin) == runtime_.all_reduce(value, Reduction::kMax);
  }

 private:
  const MpiRuntime& runtime_;
};

}  // namespace muonbench
