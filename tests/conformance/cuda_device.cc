// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/device_conformance.h"

#include "src/backend/select.h"

namespace muonbench {
namespace {

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceConformance,
                         testing::Values(DeviceCase{"cuda",
                                                    [] { return make_device("cuda", /*local_rank=*/0); }}),
                         [](const testing::TestParamInfo<DeviceCase>& each) { return each.param.name; });

}  // namespace
}  // namespace muonbench
