// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/async_device.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace muonbench {
namespace {

/// Something that happens once.
class Flag {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_set_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

/// Runs what it is given, in order. After the first failure it does nothing more but say that it is done.
class QueueThread {
 public:
  QueueThread() : thread_([this] { run(); }) {}
  QueueThread(const QueueThread&) = delete;
  QueueThread& operator=(const QueueThread&) = delete;
  ~QueueThread() {
    push([this] { stop_ = true; }, Kind::kAlways);
    thread_.join();
  }

  enum class Kind { kWork, kAlways };
  void push(std::function<void()> work, Kind kind = Kind::kWork) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(std::move(work), kind);
    changed_.notify_one();
  }

  /// Returns when all is done that was given so far, and throws what went wrong.
  void drain() {
    const auto done = std::make_shared<Flag>();
    push([done] { done->set(); }, Kind::kAlways);
    done->wait();
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void run() {
    while (!stop_) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !waiting_.empty(); });
      const auto [work, kind] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      if (failure_ && kind == Kind::kWork) continue;
      try {
        work();
      } catch (const std::exception&) {
        failure_ = std::current_exception();
      }
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::function<void()>, Kind>> waiting_;
  std::exception_ptr failure_;  // read elsewhere after drain() alone
  bool stop_ = false;
  std::thread thread_;
};

class AsyncDevice final : public Device {
 public:
  explicit AsyncDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}
  AsyncDevice(const AsyncDevice&) = delete;
  AsyncDevice& operator=(const AsyncDevice&) = delete;
  ~AsyncDevice() override = default;

  void push(Queue queue, std::function<void()> work) {
    threads_.at(static_cast<std::size_t>(queue.index))->push(std::move(work));
  }

  [[nodiscard]] Capabilities capabilities() const override { return device_->capabilities(); }
  [[nodiscard]] Buffer allocate(Bytes size, MemoryUse use) override { return device_->allocate(size, use); }
  [[nodiscard]] Bytes allocated(MemoryUse use) const override { return device_->allocated(use); }
  [[nodiscard]] std::optional<Bytes> peak_allocated() const override { return device_->peak_allocated(); }
  void reset_peak() override { device_->reset_peak(); }

  [[nodiscard]] Queue make_queue(QueuePriority /*priority*/) override {
    threads_.push_back(std::make_unique<QueueThread>());
    return Queue{static_cast<int>(threads_.size()) - 1};
  }
  [[nodiscard]] Event record(Queue queue) override {
    events_.push_back(std::make_shared<Flag>());
    threads_.at(static_cast<std::size_t>(queue.index))
        ->push([flag = events_.back()] { flag->set(); }, QueueThread::Kind::kAlways);
    return {queue.index, static_cast<std::int64_t>(events_.size()) - 1};
  }
  void wait(Queue queue, Event event) override {
    push(queue, [flag = events_.at(static_cast<std::size_t>(event.sequence))] { flag->wait(); });
  }
  void synchronize(Queue queue) override { threads_.at(static_cast<std::size_t>(queue.index))->drain(); }

  [[nodiscard]] Event record_time(Queue queue) override {
    times_.push_back(std::make_shared<Clock::time_point>());
    push(queue, [time = times_.back()] { *time = Clock::now(); });
    return {queue.index, static_cast<std::int64_t>(times_.size()) - 1};
  }
  [[nodiscard]] double seconds_at(Event event) override {
    const Clock::time_point time = *times_.at(static_cast<std::size_t>(event.sequence));
    return std::chrono::duration<double>(time - begin_).count();
  }
  void reset_times() override {
    times_.clear();
    begin_ = Clock::now();
  }
  void begin_range(const char* name) override { device_->begin_range(name); }
  void end_range() override { device_->end_range(); }

  void upload(void* to, const void* from, Bytes size) override { device_->upload(to, from, size); }
  void download(void* to, const void* from, Bytes size) override { device_->download(to, from, size); }
  void fill(const NormalFill& work) override { device_->fill(work); }
  void fill_with_zeros(void* data, Bytes size) override { device_->fill_with_zeros(data, size); }

  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundMomentum work) override {
    return later(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundCopy work) override { return later(std::move(work)); }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundZeroFill work) override {
    return later(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNewtonSchulz work) override {
    return later(std::move(work));
  }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundNsSlice work) override { return later(std::move(work)); }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundUpdate work) override { return later(std::move(work)); }
  [[nodiscard]] std::unique_ptr<Kernel> prepare(BoundAdam work) override { return later(std::move(work)); }

 private:
  using Clock = std::chrono::steady_clock;

  class LaterKernel final : public Kernel {
   public:
    LaterKernel(AsyncDevice& device, std::unique_ptr<Kernel> kernel)
        : device_(device), kernel_(std::move(kernel)) {}
    void enqueue(Queue queue, const StepContext& context) override {
      device_.push(queue, [this, queue, context] { kernel_->enqueue(queue, context); });
    }

   private:
    AsyncDevice& device_;
    std::unique_ptr<Kernel> kernel_;
  };
  template <class Work>
  std::unique_ptr<Kernel> later(Work work) {
    return std::make_unique<LaterKernel>(*this, device_->prepare(std::move(work)));
  }

  std::unique_ptr<Device> device_;
  std::vector<std::shared_ptr<Flag>> events_;
  std::vector<std::shared_ptr<Clock::time_point>> times_;
  Clock::time_point begin_;
  std::vector<std::unique_ptr<QueueThread>> threads_;  // last: they use what stands above
};

class AsyncTransfer final : public Transfer {
 public:
  AsyncTransfer(AsyncDevice& device, std::unique_ptr<Transfer> transfer)
      : device_(device), transfer_(std::move(transfer)) {}
  void start(Queue queue) override {
    device_.push(queue, [this] { transfer_->start({}); });
    started_ = device_.record(queue);
  }
  void wait(Queue queue) override {
    device_.wait(queue, started_);
    device_.push(queue, [this] { transfer_->wait({}); });
  }

 private:
  AsyncDevice& device_;
  std::unique_ptr<Transfer> transfer_;
  Event started_;
};

class AsyncComm final : public Comm {
 public:
  AsyncComm(std::unique_ptr<Comm> comm, AsyncDevice& device) : comm_(std::move(comm)), device_(device) {}
  [[nodiscard]] int size() const override { return comm_->size(); }
  [[nodiscard]] int rank() const override { return comm_->rank(); }
  [[nodiscard]] TrafficCounters counters() const override { return comm_->counters(); }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllToAll work) override {
    return std::make_unique<AsyncTransfer>(device_, comm_->prepare(std::move(work)));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllGather work) override {
    return std::make_unique<AsyncTransfer>(device_, comm_->prepare(std::move(work)));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundAllReduce work) override {
    return std::make_unique<AsyncTransfer>(device_, comm_->prepare(std::move(work)));
  }
  [[nodiscard]] std::unique_ptr<Transfer> prepare(BoundReduceScatter work) override {
    return std::make_unique<AsyncTransfer>(device_, comm_->prepare(std::move(work)));
  }

 private:
  std::unique_ptr<Comm> comm_;
  AsyncDevice& device_;
};

}  // namespace

std::unique_ptr<Device> make_async_device(std::unique_ptr<Device> device) {
  return std::make_unique<AsyncDevice>(std::move(device));
}

std::unique_ptr<Comm> make_async_comm(std::unique_ptr<Comm> comm, Device& device) {
  return std::make_unique<AsyncComm>(std::move(comm), dynamic_cast<AsyncDevice&>(device));
}

}  // namespace muonbench
