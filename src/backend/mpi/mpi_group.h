// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include <mpi.h>

#include "src/backend/mpi/mpi_check.h"
#include "src/backend/mpi/mpi_comm.h"

/// Of this folder alone: what the kinds of MPI transfer have in common.
namespace muonbench {

/// Owns one communicator. Move-only; to be destroyed before MPI_Finalize.
class OwnedMpiComm {
 public:
  explicit OwnedMpiComm(MPI_Comm owned) noexcept : comm_(owned) {}
  OwnedMpiComm(const OwnedMpiComm&) = delete;
  OwnedMpiComm& operator=(const OwnedMpiComm&) = delete;
  OwnedMpiComm(OwnedMpiComm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  OwnedMpiComm& operator=(OwnedMpiComm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  ~OwnedMpiComm() {
    if (comm_ != MPI_COMM_NULL) MUONBENCH_MPI_NOEXCEPT(MPI_Comm_free(&comm_));
  }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_;
};

/// Owns one way to reduce, or none. Move-only; to be destroyed before MPI_Finalize.
class OwnedMpiOp {
 public:
  OwnedMpiOp() = default;
  /// `function` must commute.
  explicit OwnedMpiOp(MPI_User_function* function) {
    MUONBENCH_MPI(MPI_Op_create(function, /*commute=*/1, &op_));
  }
  OwnedMpiOp(const OwnedMpiOp&) = delete;
  OwnedMpiOp& operator=(const OwnedMpiOp&) = delete;
  OwnedMpiOp(OwnedMpiOp&& other) noexcept : op_(std::exchange(other.op_, MPI_OP_NULL)) {}
  OwnedMpiOp& operator=(OwnedMpiOp&& other) noexcept {
    std::swap(op_, other.op_);
    return *this;
  }
  ~OwnedMpiOp() {
    if (op_ != MPI_OP_NULL) MUONBENCH_MPI_NOEXCEPT(MPI_Op_free(&op_));
  }
  [[nodiscard]] MPI_Op get() const { return op_; }

 private:
  MPI_Op op_ = MPI_OP_NULL;
};

[[nodiscard]] MPI_Datatype mpi_datatype(DType dtype);

/// What a communicator and its transfers share; it lives until the last of them is gone.
struct MpiGroup {
  OwnedMpiComm comm;
  MpiCommOptions options;
  int rank;
  int size;
  TrafficCounters counters;
  OwnedMpiOp bf16_sum = {};  ///< made when it is first needed
};

/// MPI's own result. `statuses` are as many as `requests`.
[[nodiscard]] int wait_for_all(std::vector<MPI_Request>& requests, std::vector<MPI_Status>& statuses,
                               MpiWaiting waiting);

}  // namespace muonbench
