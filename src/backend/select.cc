// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/backend/select.h"

#include "src/backend/linked_backend.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

LinkedBackend row_of(std::string_view backend) {
  for (const LinkedBackend& row : backend_table())
    if (row.name == backend) return row;
  throw ConfigError(
      text("run.backend: this program was built with {}, got '{}'", join(linked_backends()), backend));
}

}  // namespace

std::vector<std::string> linked_backends() {
  std::vector<std::string> names;
  for (const LinkedBackend& row : backend_table()) names.emplace_back(row.name);
  return names;
}

std::map<std::string, std::string> library_versions(std::string_view backend) {
  return row_of(backend).library_versions();
}

std::unique_ptr<Device> make_device(std::string_view backend, int local_rank) {
  return row_of(backend).make_device(local_rank);
}

}  // namespace muonbench
