// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/thread_world.h"

#include <algorithm>
#include <barrier>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "src/backend/loopback/loopback_comm.h"
#include "src/backend/select.h"
#include "src/bench/wire.h"

namespace muonbench {
namespace {

/// Where the ranks of a world leave what the others read. Who gives up leaves the barrier, so that nobody
/// waits for it.
struct MeetingPoint {
  explicit MeetingPoint(int size) : barrier(size), texts(static_cast<std::size_t>(size)) {}
  std::barrier<> barrier;
  std::vector<std::string> texts;
  std::mutex mutex;
  std::map<std::vector<WorldRank>, std::vector<std::shared_ptr<LoopbackHub>>>
      hubs;  ///< of each group, in order of making
};

class ThreadControlPlane final : public ControlPlane {
 public:
  ThreadControlPlane(MeetingPoint& point, int rank) : point_(point), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(point_.texts.size()); }
  void barrier() override { point_.barrier.arrive_and_wait(); }
  [[nodiscard]] std::string broadcast(const std::string& bytes) override { return exchange(bytes).front(); }
  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes) override {
    const std::vector<std::string> all = exchange(bytes);
    return rank_ == 0 ? all : std::vector<std::string>();
  }
  [[nodiscard]] std::vector<double> max(const std::vector<double>& values) override {
    std::vector<double> largest = values;
    for (const std::string& one : exchange(pack(values))) {
      const std::vector<double> theirs = unpack<double>(one);
      for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], theirs.at(i));
    }
    return largest;
  }
  [[nodiscard]] bool same_everywhere(std::uint64_t value) override {
    const std::vector<std::string> all = exchange(pack(std::vector{value}));
    return std::all_of(all.begin(), all.end(), [&](const std::string& one) { return one == all.front(); });
  }

 private:
  std::vector<std::string> exchange(const std::string& own) {
    point_.texts[static_cast<std::size_t>(rank_)] = own;
    barrier();
    std::vector<std::string> all = point_.texts;
    barrier();
    return all;
  }
  MeetingPoint& point_;
  int rank_;
};

/// The rank's n-th communicator over these members: the same hub for all of them.
class MakeLoopbackComm {
 public:
  MakeLoopbackComm(MeetingPoint& point, WorldRank rank, Device& device, WrapComm wrap)
      : point_(point), rank_(rank), device_(device), wrap_(std::move(wrap)) {}
  std::unique_ptr<Comm> operator()(const std::vector<WorldRank>& members) {
    const std::size_t number = made_[members]++;
    const auto me = std::find(members.begin(), members.end(), rank_) - members.begin();
    const std::lock_guard<std::mutex> lock(point_.mutex);
    auto& hubs = point_.hubs[members];
    if (hubs.size() <= number) hubs.push_back(make_loopback_hub(static_cast<int>(members.size())));
    auto comm = make_loopback_comm(hubs.at(number), static_cast<int>(me));
    return wrap_ ? wrap_(std::move(comm), device_) : std::move(comm);
  }

 private:
  MeetingPoint& point_;
  WorldRank rank_;
  Device& device_;
  WrapComm wrap_;
  std::map<std::vector<WorldRank>, std::size_t> made_;
};

void run_rank(MeetingPoint& point, const RankGrid& grid, WorldRank rank,
              const std::function<void(RankContext&)>& body, const WrapComm& wrap,
              const WrapDevice& wrap_device) {
  auto device = make_device("cpu", rank.value());
  if (wrap_device) device = wrap_device(std::move(device));
  ThreadControlPlane control(point, rank.value());
  CommSet comms(grid, rank, MakeLoopbackComm(point, rank, *device, wrap));
  RankContext context{rank, *device, comms, control};
  body(context);
}

}  // namespace

std::vector<std::string> run_as_threads(const RankGrid& grid, const std::function<void(RankContext&)>& body,
                                        const WrapComm& wrap, const WrapDevice& wrap_device) {
  MeetingPoint point(grid.world_size());
  std::vector<std::string> errors(static_cast<std::size_t>(grid.world_size()));
  std::vector<std::thread> threads;
  for (int r = 0; r < grid.world_size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        run_rank(point, grid, WorldRank(r), body, wrap, wrap_device);
      } catch (const std::exception& error) {
        errors[static_cast<std::size_t>(r)] = error.what();
        point.barrier.arrive_and_drop();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace muonbench
