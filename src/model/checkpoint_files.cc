// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include "src/base/error.h"
#include "src/base/text.h"
#include "src/config/read_config.h"
#include "src/model/checkpoint.h"

namespace muonbench {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the format's own bound

[[noreturn]] void refuse(const std::string& path, const std::string& message) {
  throw ConfigError(text("model.safetensors: {}: {}", path, message));
}

/// A name may stand once in an object, and a header is an object of objects of lists.
Json parse(const std::string& content, const std::string& path) {
  constexpr int kDeepest = 4;
  std::map<int, std::set<std::string>> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
    if (depth > kDeepest) refuse(path, "expected an object of tensors, got values nested too deep");
    if (event == Json::parse_event_t::object_start) seen[depth + 1].clear();
    if (event == Json::parse_event_t::key && !seen[depth].insert(value.get<std::string>()).second)
      refuse(path, text("expected each name once, got \"{}\" twice", value.get<std::string>()));
    return true;
  };
  try {
    return Json::parse(content, watch);
  } catch (const Json::exception& error) {
    refuse(path, text("expected JSON: {}", error.what()));
  }
}

std::int64_t bits_of(const std::string& dtype) {
  static const std::map<std::string, std::int64_t, std::less<>> bits = {
      {"BOOL", 8}, {"U8", 8},   {"I8", 8},    {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
      {"U16", 16}, {"F16", 16}, {"BF16", 16}, {"I32", 32},    {"U32", 32},    {"F32", 32},    {"F64", 64},
      {"I64", 64}, {"U64", 64}, {"F4", 4},    {"F6_E2M3", 6}, {"F6_E3M2", 6}};
  const auto found = bits.find(dtype);
  return found == bits.end() ? 0 : found->second;
}

bool is_size(const Json& json) {
  return json.is_number_unsigned() &&
         json.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

bool are_sizes(const Json& json) { return json.is_array() && std::all_of(json.begin(), json.end(), is_size); }

struct Extent {
  std::uint64_t begin = 0, end = 0;
  std::string name;
};

struct DataPart {
  std::string path;
  std::uint64_t bytes;  ///< of the file behind its header
};

/// Bytes that a tensor takes; none if no 64-bit number holds them.
std::optional<std::uint64_t> bytes_of(const Json& shape, std::int64_t bits) {
  std::int64_t product = bits;
  for (const Json& size : shape)
    if (__builtin_mul_overflow(product, size.get<std::int64_t>(), &product)) return std::nullopt;
  return static_cast<std::uint64_t>(product) / 8;
}

Extent checked_tensor(const std::string& name, const Json& tensor, const DataPart& part) {
  const auto reject = [&](const std::string& expected, const Json& got) {
    refuse(part.path, text("tensor \"{}\": expected {}, got {}", name, expected, got.dump()));
  };
  for (const char* member : {"dtype", "shape", "data_offsets"})
    if (!tensor.is_object() || !tensor.contains(member)) reject("dtype, shape and data_offsets", tensor);
  const Json& shape = tensor["shape"];
  const Json& offsets = tensor["data_offsets"];
  const std::int64_t bits = tensor["dtype"].is_string() ? bits_of(tensor["dtype"]) : 0;
  if (bits == 0) reject("a dtype of the format", tensor["dtype"]);
  if (!are_sizes(shape)) reject("a shape of sizes", shape);
  if (!are_sizes(offsets) || offsets.size() != 2) reject("data_offsets [begin, end]", offsets);
  Extent extent{offsets[0], offsets[1], name};
  const std::optional<std::uint64_t> bytes = bytes_of(shape, bits);
  if (extent.begin > extent.end || !bytes || extent.end - extent.begin != *bytes)
    reject(text("data_offsets as far apart as its dtype and shape {} say", shape.dump()), offsets);
  if (extent.end > part.bytes)
    reject(text("data_offsets within the {} bytes behind the header (a truncated file?)", part.bytes),
           offsets);
  return extent;
}

void require_side_by_side(std::vector<Extent> extents, const DataPart& part) {
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != end)
      refuse(part.path,
             text("tensor \"{}\": expected its data to begin at byte {}, where other data ends, got {}",
                  extent.name, end, extent.begin));
    end = extent.end;
  }
}

std::uint64_t size_of_file(const std::string& path) {
  std::error_code error;
  const std::uint64_t size = std::filesystem::file_size(path, error);
  if (error) refuse(path, text("cannot be read: {}", error.message()));
  return size;
}

/// The header of one file, checked, without "__metadata__".
Json read_header(const std::string& path) {
  constexpr std::uint64_t kLengthBytes = 8;
  const std::uint64_t size = size_of_file(path);
  std::ifstream file(path, std::ios::binary);
  std::array<unsigned char, kLengthBytes> head{};
  if (size < kLengthBytes || !file.read(reinterpret_cast<char*>(head.data()), kLengthBytes))
    refuse(path, text("expected 8 bytes of header length and a header, got {} readable bytes", size));
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8U | head[i];
  if (length > kMostHeaderBytes || length > size - kLengthBytes)
    refuse(path, text("expected a header of at most {} bytes in a file of {}, got a header length of {}",
                      kMostHeaderBytes, size, length));
  std::string content(length, '\0');
  if (!file.read(content.data(), static_cast<std::streamsize>(length)))
    refuse(path, text("expected {} bytes of header, got fewer", length));

  Json header = parse(content, path);
  if (!header.is_object()) refuse(path, "expected the header to be an object of tensors");
  header.erase("__metadata__");
  const DataPart part{path, size - kLengthBytes - length};
  std::vector<Extent> extents;
  for (const auto& [name, tensor] : header.items()) extents.push_back(checked_tensor(name, tensor, part));
  require_side_by_side(std::move(extents), part);
  return header;
}

/// ["BF16", 4096, 4096]
Json summary_of(const Json& tensor) {
  Json summary = Json::array({tensor["dtype"]});
  for (const Json& size : tensor["shape"]) summary.push_back(size);
  return summary;
}

Json read_index(const std::string& path) {
  const Json index = parse(read_text_file(path), path);
  const bool has_map = index.is_object() && index.contains("weight_map") && index["weight_map"].is_object();
  if (!has_map) refuse(path, "expected an object with a weight_map of tensor to file");
  std::map<std::string, Json> headers;
  Json tensors = Json::object();
  for (const auto& [name, file] : index["weight_map"].items()) {
    const std::string beside = file.is_string() ? file.get<std::string>() : "";
    if (beside.empty() || beside.find('/') != std::string::npos)
      refuse(path,
             text("tensor \"{}\": expected the name of a file beside the index, got {}", name, file.dump()));
    const std::string at = (std::filesystem::path(path).parent_path() / beside).string();
    const auto [header, is_new] = headers.try_emplace(at);
    if (is_new) header->second = read_header(at);
    if (!header->second.contains(name))
      refuse(path, text("tensor \"{}\": expected it in {}, which has no such tensor", name, at));
    tensors[name] = summary_of(header->second[name]);
  }
  return tensors;
}

}  // namespace

std::string checkpoint_tensors(const std::string& path) {
  if (path.ends_with(".json")) return read_index(path).dump();
  if (!path.ends_with(".safetensors"))
    throw ConfigError(text(
        "model.safetensors: expected a path that ends with .safetensors or .index.json, got \"{}\"", path));
  Json tensors = Json::object();
  const Json header = read_header(path);
  for (const auto& [name, tensor] : header.items()) tensors[name] = summary_of(tensor);
  return tensors.dump();
}

}  // namespace muonbench
