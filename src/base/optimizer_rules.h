// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace muonbench {

enum class WeightDecayMethod { kDecoupled, kIndependent, kL2, kPalm };

/// Scalars of the momentum pass. Every operation is fp32, rounded after each multiply and each add (never
/// contracted into an fma), in the order written, so that every mode and every backend computes equal bits:
///   decay      p <- p + factor * p, factor = -wd*lr (decoupled), -wd (independent), -wd*lr^2 (palm);
///              l2: g <- g + wd * p instead, the gradient itself is changed; wd == 0 skips the pass.
///   momentum   buf <- lerp(buf, g, 1 - momentum)
///   nesterov   u = lerp(g, buf, momentum), else u = buf
/// lerp(s, e, w) = s + w*(e - s) if |w| < 0.5, else e - (e - s)*(1 - w).
/// Source: layer-sharded Muon's momentum step; lerp as PyTorch defines it.
struct MomentumRule {
  float lr = 0.0F;
  double momentum = 0.0;  ///< 1 - momentum is formed in double, then both are rounded
  float weight_decay = 0.0F;
  bool nesterov = true;
  WeightDecayMethod weight_decay_method = WeightDecayMethod::kDecoupled;

  /// What p is multiplied by and added to itself; 0 for l2 and for weight_decay 0. Computed in double,
  /// rounded once.
  [[nodiscard]] float decay_factor() const {
    const double wd = weight_decay;
    switch (weight_decay_method) {
      case WeightDecayMethod::kDecoupled: return static_cast<float>(-wd * lr);
      case WeightDecayMethod::kIndependent: return static_cast<float>(-wd);
      case WeightDecayMethod::kPalm: return static_cast<float>(-wd * lr * lr);
      case WeightDecayMethod::kL2: return 0.0F;
    }
    return 0.0F;
  }
  /// What p is multiplied by and added to the gradient (l2 only).
  [[nodiscard]] float l2_factor() const {
    return weight_decay_method == WeightDecayMethod::kL2 ? weight_decay : 0.0F;
  }
};

/// Scalars of Adam, step k counted from 1, all fp32, bias corrections computed in double and rounded once:
///   g <- g + wd*p (only if not decoupled);  m <- b1*m + (1-b1)*g;  v <- b2*v + (1-b2)*g*g
///   p <- p - lr * ( (m/(1-b1^k)) / (sqrt(v/(1-b2^k)) + eps) + wd*p )   (wd*p only if decoupled, with the old
///   p)
/// Moments kept in bf16 are read as fp32 and rounded to nearest even when they are stored; the step itself
/// uses them unrounded.
struct AdamRule {
  float lr = 0.0F;
  double beta1 = 0.0;  ///< 1 - beta and 1 - beta^k are formed in double, then rounded
  double beta2 = 0.0;
  float eps = 0.0F;
  float weight_decay = 0.0F;
  bool decoupled_weight_decay = true;
};

}  // namespace muonbench
