// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/exec/bind.h"

#include "src/base/check.h"

namespace muonbench {
namespace {

/// Turns each kind of work into the seam's form of it.
class Binder {
 public:
  Binder(const StepProgram& program, const Addresses& addresses, Device& device, Comm* comm)
      : program_(program), addresses_(addresses), device_(device), comm_(comm) {}

  Prepared operator()(const MomentumOp& op) const {
    BoundMomentum bound{op.rule, {}};
    for (const MomentumItem& item : op.items)
      bound.items.push_back({floats(item.gradient), floats(item.master), floats(item.momentum),
                             item.ns_input ? floats(*item.ns_input) : nullptr, item.gradient.size.value()});
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const CopyOp& op) const {
    BoundCopy bound;
    for (const Tile& tile : op.tiles)
      bound.tiles.push_back({at(tile.src, tile.src_offset), program_[tile.src].dtype, tile.src_stride,
                             at(tile.dst, tile.dst_offset), program_[tile.dst].dtype, tile.dst_stride,
                             tile.shape});
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const ZeroFillOp& op) const {
    BoundZeroFill bound;
    for (const Region& region : op.regions)
      bound.regions.emplace_back(at(region.buffer, region.offset),
                                 bytes_of(region.size, program_[region.buffer].dtype));
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const AllToAllOp& op) const {
    return comm().prepare(BoundAllToAll{program_[op.send].dtype, segments(op.send, op.sends),
                                        segments(op.receive, op.receives)});
  }
  Prepared operator()(const AllGatherOp& op) const {
    const BoundSegment send{at(op.send.buffer, op.send.offset), op.send.size.value()};
    return comm().prepare(
        BoundAllGather{program_[op.receive].dtype, send, segments(op.receive, op.receives)});
  }
  Prepared operator()(const AllReduceOp& op) const {
    BoundAllReduce bound{{}, program_[op.regions.front().buffer].dtype};
    for (const Region& region : op.regions) {
      MUONBENCH_CHECK(program_[region.buffer].dtype == bound.dtype, "{} is of another dtype",
                      name_of(program_[region.buffer]));
      bound.regions.push_back({at(region.buffer, region.offset), region.size.value()});
    }
    return comm().prepare(std::move(bound));
  }
  Prepared operator()(const ReduceScatterOp& op) const {
    BoundReduceScatter bound;
    for (const ReduceScatterItem& item : op.items) {
      static_cast<void>(floats({item.buffer, Elements(0), Elements(0)}));
      bound.items.push_back(segments(item.buffer, item.segments));
    }
    return comm().prepare(std::move(bound));
  }
  Prepared operator()(const NewtonSchulzOp& op) const {
    BoundNewtonSchulz bound{op.matrix,
                            {},
                            at(op.scratch.buffer, op.scratch.offset),
                            resolved(program_.ns, {op.matrix, static_cast<int>(op.items.size())}),
                            op.scaling};
    for (const NewtonSchulzItem& item : op.items) bound.items.emplace_back(floats(item.in), floats(item.out));
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const NsSliceOp& op) const {
    BoundNsSlice bound{op.part,
                       op.step,
                       op.slice,
                       op.matrix,
                       {},
                       floats(op.sums),
                       at(op.scratch.buffer, op.scratch.offset),
                       resolved(program_.ns, op.slice, static_cast<int>(op.data.size())),
                       op.scaling};
    for (const Region& matrix : op.data) bound.data.push_back(floats(matrix));
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const UpdateOp& op) const {
    BoundUpdate bound{op.lr, {}};
    for (const UpdateItem& item : op.items)
      bound.items.push_back({at(item.update.buffer, item.update.offset), floats(item.master),
                             weight(item.weight), item.master.size.value(),
                             program_[item.update.buffer].dtype, item.scale});
    return device_.prepare(std::move(bound));
  }
  Prepared operator()(const AdamOp& op) const {
    BoundAdam bound{op.rule, {}, op.moments};
    for (const AdamItem& item : op.items)
      bound.items.push_back({floats(item.gradient), floats(item.master), moment(item.exp_avg, op.moments),
                             moment(item.exp_avg_sq, op.moments), weight(item.weight),
                             item.master.size.value()});
    return device_.prepare(std::move(bound));
  }

 private:
  [[nodiscard]] void* at(BufferId buffer, Elements offset) const {
    return address_of(program_, addresses_, buffer, offset);
  }
  [[nodiscard]] float* floats(const Region& region) const {
    MUONBENCH_CHECK(program_[region.buffer].dtype == DType::kFp32, "{} is not fp32",
                    name_of(program_[region.buffer]));
    return static_cast<float*>(at(region.buffer, region.offset));
  }
  [[nodiscard]] void* moment(const Region& region, DType dtype) const {
    MUONBENCH_CHECK(program_[region.buffer].dtype == dtype, "{} has another dtype than the op's moments",
                    name_of(program_[region.buffer]));
    return at(region.buffer, region.offset);
  }
  [[nodiscard]] void* weight(const std::optional<Region>& region) const {
    return region ? at(region->buffer, region->offset) : nullptr;
  }
  [[nodiscard]] std::vector<BoundSegment> segments(BufferId buffer, const std::vector<Segment>& all) const {
    std::vector<BoundSegment> bound;
    bound.reserve(all.size());
    for (const Segment& segment : all) bound.push_back({at(buffer, segment.offset), segment.size.value()});
    return bound;
  }
  [[nodiscard]] Comm& comm() const {
    MUONBENCH_CHECK(comm_ != nullptr, "a collective without a communicator");
    return *comm_;
  }

  const StepProgram& program_;
  const Addresses& addresses_;
  Device& device_;
  Comm* comm_;
};

}  // namespace

void* address_of(const StepProgram& program, const Addresses& addresses, BufferId buffer, Elements offset) {
  // A buffer that no op touches has no memory; an empty region of it has no address.
  void* base = addresses[static_cast<std::size_t>(buffer.index)];
  if (base == nullptr) return nullptr;
  return static_cast<std::byte*>(base) + bytes_of(offset, program[buffer].dtype).value();
}

Prepared prepare_op(const StepProgram& program, const Op& op, const Addresses& addresses, Device& device,
                    Comm* comm) {
  return std::visit(Binder(program, addresses, device, comm), op.work);
}

}  // namespace muonbench
