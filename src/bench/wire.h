// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "src/base/check.h"

namespace muonbench {

/// Plain values as bytes and back, for the control plane. All ranks run the same binary.
template <class T>
[[nodiscard]] std::string pack(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
[[nodiscard]] std::vector<T> unpack(const std::string& bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  MUONBENCH_CHECK(bytes.size() % sizeof(T) == 0, "{} bytes are no whole number of {}", bytes.size(),
                  sizeof(T));
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Texts, each behind its length.
[[nodiscard]] inline std::string pack_strings(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& one : texts) bytes += pack(std::vector{one.size()}) + one;
  return bytes;
}

[[nodiscard]] inline std::vector<std::string> unpack_strings(const std::string& bytes) {
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t length = unpack<std::size_t>(bytes.substr(at, sizeof(std::size_t))).front();
    texts.push_back(bytes.substr(at + sizeof(std::size_t), length));
    at += sizeof(std::size_t) + length;
  }
  return texts;
}

}  // namespace muonbench
