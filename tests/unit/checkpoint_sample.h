// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/model/checkpoint.h"

/// Checkpoints that a test writes.
namespace muonbench::testing {

struct StoredTensor {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype = "BF16";
};

/// A folder of its own, empty.
[[nodiscard]] inline std::string fresh_folder() {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) /
                                       ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder.string();
}

/// Header length, header, then `data_bytes` zeros.
inline void write_raw(const std::string& path, const std::string& header, std::uint64_t data_bytes) {
  std::ofstream file(path, std::ios::binary);
  for (unsigned i = 0; i < 8; ++i) file.put(static_cast<char>(header.size() >> (8 * i) & 0xff));
  file << header << std::string(data_bytes, '\0');
}

[[nodiscard]] inline std::string tensor_json(const StoredTensor& tensor, std::uint64_t begin,
                                             std::uint64_t end) {
  std::vector<std::string> sizes;
  for (const std::int64_t size : tensor.shape) sizes.push_back(text("{}", size));
  return text(R"("{}": {{"dtype": "{}", "shape": [{}], "data_offsets": [{}, {}]}})", tensor.name,
              tensor.dtype, join(sizes), begin, end);
}

/// Two bytes an element, whatever the dtype.
inline void write_checkpoint(const std::string& path, const std::vector<StoredTensor>& tensors) {
  std::string header = R"({"__metadata__": {"format": "pt"})";
  std::uint64_t end = 0;
  for (const StoredTensor& tensor : tensors) {
    std::uint64_t bytes = 2;
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::uint64_t>(size);
    header += ", " + tensor_json(tensor, end, end + bytes);
    end += bytes;
  }
  write_raw(path, header + "}", end);
}

/// The message that refuses it; empty if nothing does.
[[nodiscard]] inline std::string checkpoint_refusal(const std::string& path) {
  try {
    static_cast<void>(checkpoint_model(checkpoint_tensors(path), path));
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

}  // namespace muonbench::testing
