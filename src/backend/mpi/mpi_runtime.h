// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/error.h"
#include "src/base/strong.h"

namespace muonbench {

enum class Reduction { kMin, kMax, kSum };

/// The library this program was built with: "Open MPI v4.1.4, ...". Needs no MpiRuntime.
[[nodiscard]] std::string mpi_library_version();

/// MPI from start to end of the job, and the control plane on MPI_COMM_WORLD: small messages outside of timed
/// regions. All calls but the getters and abort are collective: every rank makes them in the same order.
/// Declare it before anything that holds a communicator, so that it dies last. Where MPI runs already, it is
/// used and left running.
class MpiRuntime {
 public:
  /// Asks for MPI_THREAD_SERIALIZED: a second thread (the watchdog) may call abort.
  MpiRuntime(int* argc, char*** argv);
  MpiRuntime(const MpiRuntime&) = delete;
  MpiRuntime& operator=(const MpiRuntime&) = delete;
  /// Ends MPI, which waits for all ranks; when an exception is on its way it ends the job instead, since the
  /// others would wait for ever.
  ~MpiRuntime();

  [[nodiscard]] WorldRank rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  /// Among the ranks that share this machine's memory.
  [[nodiscard]] int local_rank() const { return local_rank_; }
  [[nodiscard]] int local_size() const { return local_size_; }
  /// Processors that the ranks of this machine may run on, together.
  [[nodiscard]] int local_cores() const { return local_cores_; }
  [[nodiscard]] const std::string& host() const { return host_; }

  void barrier() const;
  /// root's text, on every rank.
  [[nodiscard]] std::string broadcast(const std::string& own, WorldRank root = WorldRank(0)) const;
  /// Every rank's text by rank on root, nothing on the others.
  [[nodiscard]] std::vector<std::string> gather(const std::string& own, WorldRank root = WorldRank(0)) const;
  /// Element by element over the ranks, the result on every rank. All ranks give equally many values.
  [[nodiscard]] std::vector<double> all_reduce(std::span<const double> own, Reduction reduction) const;
  [[nodiscard]] std::vector<std::int64_t> all_reduce(std::span<const std::int64_t> own,
                                                     Reduction reduction) const;
  [[nodiscard]] std::vector<std::uint64_t> all_reduce(std::span<const std::uint64_t> own,
                                                      Reduction reduction) const;
  /// Of one value.
  template <class T>
  requires std::is_arithmetic_v<T>
  [[nodiscard]] T all_reduce(T own, Reduction reduction) const {
    return all_reduce(std::span<const T>(&own, 1), reduction).front();
  }

  /// Ends the whole job at once, from any thread.
  [[noreturn]] void abort(ExitCode code) const;

 private:
  void find_local_ranks();

  bool owns_mpi_ = false;
  WorldRank rank_;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  int local_cores_ = 1;
  std::string host_;
};

}  // namespace muonbench
