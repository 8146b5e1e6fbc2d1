// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "src/base/dtype.h"
#include "src/base/optimizer_rules.h"
#include "src/ns/ns_options.h"

/// The closed kinds of the configuration and their words; the one place where the words are spelt.
namespace muonbench {

enum class HomePolicy { kLptNsCost, kRoundRobin, kExplicit };
/// How mode layer_wise deals whole parameters out over replicas, and whether it does so with Adam's.
enum class OwnerPolicy { kPingPong, kLptNumel, kLptNsCost };
enum class LayerWiseAdam { kLayerWise, kDim0 };
/// How shards come to their homes: over gtp_remat and then over tp, or at once over the whole domain.
enum class ExchangeWay { kTwoStage, kFused };
/// Who runs NS on a weight that gtp_remat alone shards, where there are TP peers: all peers of its home
/// column, one rank, or whichever of the two costs less.
enum class GtpOnlyHomes { kColumn, kSingle, kAuto };
enum class Timing { kStep, kPhases };
enum class GlobalFill { kRandom, kOnes, kZeros };
enum class Backend { kCpu, kCuda };
enum class Transport { kMpi, kNccl, kCopyEngine };

template <class E, std::size_t N>
using NameTable = std::array<std::pair<E, std::string_view>, N>;

inline constexpr NameTable<WeightDecayMethod, 4> kWeightDecayMethodNames = {
    {{WeightDecayMethod::kDecoupled, "decoupled"},
     {WeightDecayMethod::kIndependent, "independent"},
     {WeightDecayMethod::kL2, "l2"},
     {WeightDecayMethod::kPalm, "palm"}}};
inline constexpr NameTable<ScaleMode, 3> kScaleModeNames = {{{ScaleMode::kSpectral, "spectral"},
                                                             {ScaleMode::kUnitRmsNorm, "unit_rms_norm"},
                                                             {ScaleMode::kShapeScaling, "shape_scaling"}}};
inline constexpr NameTable<MatmulPrecision, 3> kMatmulPrecisionNames = {
    {{MatmulPrecision::kHighest, "highest"},
     {MatmulPrecision::kHigh, "high"},
     {MatmulPrecision::kMedium, "medium"}}};
inline constexpr NameTable<NsAlgorithm, 4> kNsAlgorithmNames = {{{NsAlgorithm::kGemm, "gemm"},
                                                                 {NsAlgorithm::kSyrk, "syrk"},
                                                                 {NsAlgorithm::kGram, "gram"},
                                                                 {NsAlgorithm::kAuto, "auto"}}};
inline constexpr NameTable<HomePolicy, 3> kHomePolicyNames = {{{HomePolicy::kLptNsCost, "lpt_ns_cost"},
                                                               {HomePolicy::kRoundRobin, "round_robin"},
                                                               {HomePolicy::kExplicit, "explicit"}}};
inline constexpr NameTable<OwnerPolicy, 3> kOwnerPolicyNames = {{{OwnerPolicy::kPingPong, "ping_pong"},
                                                                 {OwnerPolicy::kLptNumel, "lpt_numel"},
                                                                 {OwnerPolicy::kLptNsCost, "lpt_ns_cost"}}};
inline constexpr NameTable<LayerWiseAdam, 2> kLayerWiseAdamNames = {
    {{LayerWiseAdam::kLayerWise, "layer_wise"}, {LayerWiseAdam::kDim0, "dim0"}}};
inline constexpr NameTable<ExchangeWay, 2> kExchangeWayNames = {
    {{ExchangeWay::kTwoStage, "two_stage"}, {ExchangeWay::kFused, "fused"}}};
inline constexpr NameTable<GtpOnlyHomes, 3> kGtpOnlyHomesNames = {
    {{GtpOnlyHomes::kColumn, "column"}, {GtpOnlyHomes::kSingle, "single"}, {GtpOnlyHomes::kAuto, "auto"}}};
inline constexpr NameTable<Timing, 2> kTimingNames = {{{Timing::kStep, "step"}, {Timing::kPhases, "phases"}}};
inline constexpr NameTable<GlobalFill, 3> kGlobalFillNames = {
    {{GlobalFill::kRandom, "random"}, {GlobalFill::kOnes, "ones"}, {GlobalFill::kZeros, "zeros"}}};
inline constexpr NameTable<Backend, 2> kBackendNames = {{{Backend::kCpu, "cpu"}, {Backend::kCuda, "cuda"}}};
inline constexpr NameTable<Transport, 3> kTransportNames = {
    {{Transport::kMpi, "mpi"}, {Transport::kNccl, "nccl"}, {Transport::kCopyEngine, "copy_engine"}}};
inline constexpr NameTable<DType, 2> kDTypeNames = {{{DType::kBf16, "bf16"}, {DType::kFp32, "fp32"}}};

template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const NameTable<E, N>& table, E value) {
  for (const auto& [v, name] : table)
    if (v == value) return name;
  return "";
}

/// The value of a word; none if the table has no such word.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::optional<E> value_in(const NameTable<E, N>& table, std::string_view word) {
  for (const auto& [value, name] : table)
    if (name == word) return value;
  return std::nullopt;
}

}  // namespace muonbench
