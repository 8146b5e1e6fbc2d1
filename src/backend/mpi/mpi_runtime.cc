// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/mpi/mpi_runtime.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <exception>

#include <mpi.h>
#include <sched.h>

#include "src/backend/mpi/mpi_check.h"
#include "src/backend/mpi/mpi_segments.h"
#include "src/base/check.h"

namespace muonbench {
namespace {

MPI_Op op_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kMin: return MPI_MIN;
    case Reduction::kMax: return MPI_MAX;
    case Reduction::kSum: return MPI_SUM;
  }
  return MPI_OP_NULL;
}

int count_of(std::size_t n) {
  MUONBENCH_CHECK(n <= static_cast<std::size_t>(kLargestMpiCount), "{} values in one message", n);
  return static_cast<int>(n);
}

template <class T>
std::vector<T> reduce_all(std::span<const T> own, Reduction reduction, MPI_Datatype type) {
  std::vector<T> result(own.size());
  MUONBENCH_MPI(
      MPI_Allreduce(own.data(), result.data(), count_of(own.size()), type, op_of(reduction), MPI_COMM_WORLD));
  return result;
}

std::string processor_host() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  MUONBENCH_MPI(MPI_Get_processor_name(name.data(), &length));
  return {name.data(), static_cast<std::size_t>(length)};
}

// Under --bind-to core each rank's own mask holds one core only: the ranks of a machine put theirs together.
int cores_of_all(MPI_Comm machine) {
  cpu_set_t own;
  CPU_ZERO(&own);
  if (sched_getaffinity(0, sizeof own, &own) != 0) return 1;
  cpu_set_t all;
  CPU_ZERO(&all);
  MUONBENCH_MPI(MPI_Allreduce(&own, &all, static_cast<int>(sizeof own), MPI_BYTE, MPI_BOR, machine));
  return CPU_COUNT(&all);
}

}  // namespace

std::string mpi_library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  MUONBENCH_MPI(MPI_Get_library_version(version.data(), &length));
  // The length that Open MPI gives counts the terminator.
  return std::string(version.data());
}

MpiRuntime::MpiRuntime(int* argc, char*** argv) {
  int initialized = 0;
  MUONBENCH_MPI(MPI_Initialized(&initialized));
  if (initialized == 0) {
    int provided = MPI_THREAD_SINGLE;
    MUONBENCH_MPI(MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &provided));
    owns_mpi_ = true;
  }
  MUONBENCH_MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  int rank = 0;
  MUONBENCH_MPI(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  MUONBENCH_MPI(MPI_Comm_size(MPI_COMM_WORLD, &size_));
  rank_ = WorldRank(rank);
  host_ = processor_host();
  find_local_ranks();
}

MpiRuntime::~MpiRuntime() {
  if (!owns_mpi_) return;
  if (std::uncaught_exceptions() > 0) abort(ExitCode::kRuntime);
  MUONBENCH_MPI_NOEXCEPT(MPI_Finalize());
}

void MpiRuntime::find_local_ranks() {
  MPI_Comm machine = MPI_COMM_NULL;
  MUONBENCH_MPI(
      MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank_.value(), MPI_INFO_NULL, &machine));
  MUONBENCH_MPI(MPI_Comm_rank(machine, &local_rank_));
  MUONBENCH_MPI(MPI_Comm_size(machine, &local_size_));
  local_cores_ = cores_of_all(machine);
  MUONBENCH_MPI(MPI_Comm_free(&machine));
}

void MpiRuntime::barrier() const { MUONBENCH_MPI(MPI_Barrier(MPI_COMM_WORLD)); }

std::string MpiRuntime::broadcast(const std::string& own, WorldRank root) const {
  std::string result = rank_ == root ? own : std::string();
  auto size = static_cast<std::int64_t>(result.size());
  MUONBENCH_MPI(MPI_Bcast(&size, 1, MPI_INT64_T, root.value(), MPI_COMM_WORLD));
  result.resize(static_cast<std::size_t>(size));
  for (const MpiSegment& segment : mpi_segments(Elements(size)))
    MUONBENCH_MPI(MPI_Bcast(result.data() + segment.offset.value(), segment.count, MPI_CHAR, root.value(),
                            MPI_COMM_WORLD));
  return result;
}

std::vector<std::string> MpiRuntime::gather(const std::string& own, WorldRank root) const {
  const int own_size = count_of(own.size());
  std::vector<int> sizes(static_cast<std::size_t>(size_));
  MUONBENCH_MPI(MPI_Gather(&own_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, root.value(), MPI_COMM_WORLD));
  std::vector<int> offsets(sizes.size());
  std::size_t total = 0;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
    offsets[rank] = count_of(total);
    total += static_cast<std::size_t>(sizes[rank]);
  }
  std::string all(total, '\0');
  MUONBENCH_MPI(MPI_Gatherv(own.data(), own_size, MPI_CHAR, all.data(), sizes.data(), offsets.data(),
                            MPI_CHAR, root.value(), MPI_COMM_WORLD));
  if (rank_ != root) return {};
  std::vector<std::string> texts;
  for (std::size_t rank = 0; rank < sizes.size(); ++rank)
    texts.push_back(
        all.substr(static_cast<std::size_t>(offsets[rank]), static_cast<std::size_t>(sizes[rank])));
  return texts;
}

std::vector<double> MpiRuntime::all_reduce(std::span<const double> own, Reduction reduction) const {
  return reduce_all(own, reduction, MPI_DOUBLE);
}
std::vector<std::int64_t> MpiRuntime::all_reduce(std::span<const std::int64_t> own,
                                                 Reduction reduction) const {
  return reduce_all(own, reduction, MPI_INT64_T);
}
std::vector<std::uint64_t> MpiRuntime::all_reduce(std::span<const std::uint64_t> own,
                                                  Reduction reduction) const {
  return reduce_all(own, reduction, MPI_UINT64_T);
}

void MpiRuntime::abort(ExitCode code) const {
  MUONBENCH_MPI_NOEXCEPT(MPI_Abort(MPI_COMM_WORLD, static_cast<int>(code)));
  std::_Exit(static_cast<int>(code));
}

}  // namespace muonbench
