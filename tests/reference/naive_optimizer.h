// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>

/// Momentum, update and Adam element by element, as the oracle of tests: fp32, one rounding per operation.
/// Shares no code with src.
namespace muonbench::reference {

/// decay: factor of p <- p + decay * p. l2: factor of g <- g + l2 * p. A factor of 0 leaves the pass out.
struct MomentumScalars {
  float decay = 0, l2 = 0, momentum = 0;
  bool nesterov = true;
};
struct MomentumElement {
  float gradient, master, momentum, ns_input;
};

inline float lerp(float start, float end, float weight) {
  if (std::fabs(weight) < 0.5F) {
    const float way = end - start;
    const float part = weight * way;
    return start + part;
  }
  const float way = end - start;
  const float part = way * (1.0F - weight);
  return end - part;
}

inline MomentumElement momentum_step(MomentumElement e, const MomentumScalars& s) {
  if (s.decay != 0) {
    const float part = s.decay * e.master;
    e.master = e.master + part;
  }
  if (s.l2 != 0) {
    const float part = s.l2 * e.master;
    e.gradient = e.gradient + part;
  }
  e.momentum = lerp(e.momentum, e.gradient, 1.0F - s.momentum);
  e.ns_input = s.nesterov ? lerp(e.gradient, e.momentum, s.momentum) : e.momentum;
  return e;
}

struct AdamConstants {
  float lr, beta1, beta2, eps, weight_decay;
  bool decoupled;
};
struct AdamElement {
  float gradient, master, exp_avg, exp_avg_sq;
};

/// `step` counts from 1.
inline AdamElement adam_step(AdamElement e, const AdamConstants& c, int step) {
  const auto correction1 = static_cast<float>(1 - std::pow(double{c.beta1}, step));
  const auto correction2 = static_cast<float>(1 - std::pow(double{c.beta2}, step));
  float g = e.gradient;
  if (!c.decoupled) g = g + c.weight_decay * e.master;
  e.exp_avg = c.beta1 * e.exp_avg + (1.0F - c.beta1) * g;
  e.exp_avg_sq = c.beta2 * e.exp_avg_sq + (1.0F - c.beta2) * g * g;
  float direction = (e.exp_avg / correction1) / (std::sqrt(e.exp_avg_sq / correction2) + c.eps);
  if (c.decoupled) direction = direction + c.weight_decay * e.master;
  e.master = e.master - c.lr * direction;
  return e;
}

}  // namespace muonbench::reference
