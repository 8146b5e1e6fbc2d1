// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include <gtest/gtest.h>
#include <mpi.h>

namespace {

void require_success(int result, const char* call) {
  if (result == MPI_SUCCESS) return;
  std::fprintf(stderr, "%s failed with MPI error %d\n", call, result);
  std::abort();
}

/// Ends the job where a rank leaves a test early: its peers would wait for it in their next collective.
class EndTheJobTogether : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.fatally_failed()) return;
    std::fflush(nullptr);
    require_success(MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE), "MPI_Abort");
  }
};

/// Says for the ranks whose printer is silent what failed there.
class PrintFailures : public testing::EmptyTestEventListener {
 public:
  explicit PrintFailures(int rank) : rank_(rank) {}

 private:
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    const char* file = result.file_name() == nullptr ? "unknown file" : result.file_name();
    std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, file, result.line_number(), result.message());
  }
  int rank_;
};

}  // namespace

int main(int argc, char** argv) {
  require_success(MPI_Init(&argc, &argv), "MPI_Init");
  testing::InitGoogleTest(&argc, argv);
  int rank = 0;
  require_success(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");

  // The list of listeners owns them.
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new PrintFailures(rank));
  }
  listeners.Append(new EndTheJobTogether);

  const int failed = RUN_ALL_TESTS();
  require_success(MPI_Finalize(), "MPI_Finalize");
  const bool nothing_ran = testing::UnitTest::GetInstance()->test_to_run_count() == 0;
  return failed != 0 || nothing_ran ? EXIT_FAILURE : EXIT_SUCCESS;
}
