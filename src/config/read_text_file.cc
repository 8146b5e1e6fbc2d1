// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/config/read_config.h"

namespace muonbench {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const {
    static_cast<void>(std::fclose(file));
  }  // read only: nothing can be lost
};

[[noreturn]] void refuse(const std::string& path, int error) {
  throw ConfigError(text("{}: cannot be read: {}", path, std::generic_category().message(error)));
}

}  // namespace

std::string read_text_file(const std::string& path) {
  // A device or pipe without end would fill the memory before anything could be said about it.
  constexpr std::size_t kMostBytes = std::size_t{1} << 28U;
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (!file) refuse(path, errno);
  std::string content;
  std::array<char, 1U << 16U> block{};
  while (true) {
    const std::size_t got = std::fread(block.data(), 1, block.size(), file.get());
    if (got < block.size() && std::ferror(file.get()) != 0) refuse(path, errno);
    content.append(block.data(), got);
    if (got < block.size()) return content;
    if (content.size() > kMostBytes)
      throw ConfigError(text("{}: expected a file of at most {} bytes, got more", path, kMostBytes));
  }
}

}  // namespace muonbench
