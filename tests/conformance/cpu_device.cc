// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/device_conformance.h"

#include "src/backend/select.h"

namespace muonbench {
namespace {

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
                         testing::Values(DeviceCase{"cpu",
                                                    [] { return make_device("cpu", /*local_rank=*/1); }}),
                         [](const testing::TestParamInfo<DeviceCase>& each) { return each.param.name; });

}  // namespace
}  // namespace muonbench
