// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
//
// How fast one GPU carries out the pieces of a step, each beside what bounds it:
//   gpu_bench [--quick] [copy|ns|algorithms|elementwise|launch]... [BATCHxROWSxCOLS]...
// One JSON object on standard output (results/README.md); shapes are those of ns and algorithms. Without
// names: everything.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bench/measures.h"
#include <nlohmann/json.hpp>

#include "src/backend/select.h"
#include "src/base/error.h"
#include "src/base/text.h"

namespace muonbench {
namespace {

// Shapes of published models' weights, alone and as many as one rank of an expert model has.
const std::vector<NsShape> kShapes = {
    {{2048, 768}, 1},  {{4096, 4096}, 1},  {{4096, 14336}, 1},  {{7168, 2048}, 1},
    {{2048, 768}, 64}, {{768, 2048}, 128}, {{7168, 2048}, 32},  {{4096, 4096}, 8},
    {{7168, 7168}, 1}, {{8192, 28672}, 1}, {{16384, 16384}, 1},
};
const std::vector<NsShape> kQuickShapes = {{{2048, 768}, 1}, {{4096, 4096}, 1}, {{768, 2048}, 16}};

constexpr Effort kFull{31, 0.02}, kQuick{3, 0.002};

struct Request {
  std::vector<std::string> names;
  std::vector<NsShape> shapes;
  Effort effort = kFull;
};

using Measure = std::function<nlohmann::ordered_json(Device&, const Request&)>;
const std::vector<std::pair<std::string, Measure>> kMeasures = {
    {"copy", [](Device& device, const Request& request) { return measure_copy(device, request.effort); }},
    {"ns", [](Device& device,
              const Request& request) { return measure_ns(device, request.shapes, request.effort); }},
    {"algorithms",
     [](Device& device, const Request& request) {
       return measure_algorithms(device, request.shapes, request.effort);
     }},
    {"elementwise",
     [](Device& device, const Request& request) { return measure_elementwise(device, request.effort); }},
    {"launch", [](Device& device, const Request& request) { return measure_launch(device, request.effort); }},
};

/// "64x2048x768" as its numbers; none if it is no such word.
std::vector<std::int64_t> parse_sizes(std::string_view word) {
  std::vector<std::int64_t> sizes;
  const char *at = word.data(), *end = at + word.size();
  while (at != end) {
    std::int64_t size = 0;
    const auto parsed = std::from_chars(at, end, size);
    if (parsed.ec != std::errc() || size < 1 || size > 1'000'000) return {};
    sizes.push_back(size);
    at = parsed.ptr;
    if (at != end && *at++ != 'x') return {};
  }
  return sizes;
}

Request parse(const std::vector<std::string_view>& words) {
  Request request;
  const bool quick = std::find(words.begin(), words.end(), "--quick") != words.end();
  if (quick) request.effort = kQuick;
  for (const std::string_view word : words) {
    const auto named = [word](const auto& measure) { return measure.first == word; };
    if (word == "--quick") continue;
    if (std::any_of(kMeasures.begin(), kMeasures.end(), named)) {
      request.names.emplace_back(word);
      continue;
    }
    const std::vector<std::int64_t> sizes = parse_sizes(word);
    if (sizes.size() != 3)
      throw ConfigError(
          text("expected --quick, copy, ns, algorithms, elementwise, launch or a shape such as 64x2048x768, "
               "got '{}'",
               word));
    request.shapes.push_back({{sizes[1], sizes[2]}, static_cast<int>(sizes[0])});
  }
  if (request.shapes.empty()) request.shapes = quick ? kQuickShapes : kShapes;
  return request;
}

int run(const std::vector<std::string_view>& words) {
  const Request request = parse(words);
  const auto device = make_device("cuda", 0);
  const Capabilities facts = device->capabilities();
  nlohmann::ordered_json report = {{"program", "gpu_bench"},
                                   {"device", facts.device_name},
                                   {"memory_bytes", facts.memory_bytes},
                                   {"versions", library_versions("cuda")}};
  int status = 0;
  for (const auto& [name, measure] : kMeasures) {
    const bool named = std::find(request.names.begin(), request.names.end(), name) != request.names.end();
    // Everything: what there is on this device.
    if (request.names.empty() ? name == "algorithms" && !facts.syrk : !named) continue;
    // The others' figures are worth having where one fails.
    try {
      report[name] = measure(*device, request);
    } catch (const Error& error) {
      std::fprintf(stderr, "gpu_bench: %s: %s\n", name.c_str(), error.what());
      report[name] = nullptr;
      status = static_cast<int>(error.code());
    }
  }
  std::puts(report.dump(2).c_str());
  return status;
}

}  // namespace
}  // namespace muonbench

int main(int argc, char** argv) {
  try {
    return muonbench::run({argv + 1, argv + argc});
  } catch (const muonbench::Error& error) {
    std::fprintf(stderr, "gpu_bench: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}
