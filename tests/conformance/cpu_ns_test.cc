// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "tests/conformance/ns_runner.h"

#include "src/backend/select.h"
#include "src/base/error.h"
#include "src/base/text.h"

/// Promises of the CPU alone.
namespace muonbench {
namespace {

TEST(CpuNewtonSchulz, HasTheSameBitsForAMatrixTimesAPowerOfTwo) {
  // The norm is taken in double, and the quotient rounded once: nothing else sees the magnitude.
  const auto device = make_device("cpu", 0);
  const HostMatrix in = random_matrix({24, 40}, 31);
  const NsOptions options = ns_options("quintic", 5, MatmulPrecision::kHighest);
  const auto wanted = bits(orthogonalized(*device, in, options).values);
  EXPECT_EQ(bits(orthogonalized(*device, times(in, 0x1p+120F), options).values), wanted);
  EXPECT_EQ(bits(orthogonalized(*device, times(in, 0x1p-40F), options).values), wanted);
}

TEST(CpuNewtonSchulz, RefusesDimensionsBeyondTheIntOfBlas) {
  const auto device = make_device("cpu", 0);
  const Buffer some = device->allocate(Bytes(256), MemoryUse::kNsScratch);
  auto* memory = static_cast<float*>(some.data());
  for (const Shape shape : {Shape{1, 3000000000}, Shape{3000000000, 1}}) {
    try {
      static_cast<void>(device->prepare(BoundNewtonSchulz{
          shape, {{memory, memory}}, memory, ns_options("quintic", 5, MatmulPrecision::kHighest)}));
      FAIL() << "accepted";
    } catch (const RuntimeFailure& failure) {
      EXPECT_NE(std::string(failure.what()).find("3000000000"), std::string::npos) << failure.what();
    }
  }
}

TEST(SelectedBackends, AreNamedWhenAnotherIsAskedFor) {
  // Others beside it, by how this was built.
  EXPECT_EQ(linked_backends().front(), "cpu");
  try {
    static_cast<void>(make_device("abacus", 0));
    FAIL() << "accepted";
  } catch (const ConfigError& error) {
    EXPECT_EQ(error.what(),
              "run.backend: this program was built with " + join(linked_backends()) + ", got 'abacus'");
  }
}

}  // namespace
}  // namespace muonbench
