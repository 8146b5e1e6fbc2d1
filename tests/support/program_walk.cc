// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/program_walk.h"

#include <algorithm>
#include <deque>

#include "src/base/text.h"

namespace muonbench {
namespace {

bool is_collective(const Op& op) { return group_of(op).has_value(); }

/// Both kinds of collective as one: what a member sends to each other member, and where it receives.
struct Wire {
  GroupKey group;
  BufferId send, receive;
  std::vector<Segment> sends, receives;
};

Wire wire_of(const Op& op, std::size_t members) {
  if (const auto* all_to_all = std::get_if<AllToAllOp>(&op.work))
    return {all_to_all->group, all_to_all->send, all_to_all->receive, all_to_all->sends,
            all_to_all->receives};
  const auto& all_gather = std::get<AllGatherOp>(op.work);
  const Segment own{all_gather.send.offset, all_gather.send.size};
  return {all_gather.group, all_gather.send.buffer, all_gather.receive, std::vector<Segment>(members, own),
          all_gather.receives};
}

}  // namespace

ProgramWalk::ProgramWalk(const TestModel& model, std::vector<StepProgram> programs, NsOn ns_on)
    : model_(model),
      ns_on_(ns_on),
      programs_(std::move(programs)),
      next_(programs_.size(), 0),
      slices_(programs_.size()) {
  Id next = 0;
  const GridShape& shape = model.grid().shape();
  for (const Parameter& param : model.params().params) {
    first_id_.push_back(next);
    oracles_.emplace_back(reference::Cell{param.shape.rows, param.shape.cols},
                          reference::ShardOracle::Tags{param.tp_dim, param.gtp_remat},
                          param.expert ? shape.expert_gtp_remat : shape.gtp_remat,
                          param.expert ? shape.expert_tp : shape.tp, model.pad_for_alignment());
    next += param.shape.elements().value();
  }
  first_id_.push_back(next);
  ns_runs_.assign(programs_.size(), std::vector<int>(model.params().params.size(), 0));
  memories_.reserve(programs_.size());
  for (const StepProgram& program : programs_) memories_.emplace_back(program);
  for (std::size_t r = 0; r < programs_.size(); ++r) fill_weights(WorldRank(static_cast<int>(r)));
}

void ProgramWalk::require(bool condition, const std::string& what) {
  if (!condition) throw WalkError(what);
}

Id ProgramWalk::shard_id(WorldRank r, ParamIndex p, std::int64_t row, std::int64_t col) const {
  // The domain's place from the rank order itself: t fastest, then (of experts) ep, then g, then dp.
  const GridShape& shape = model_.grid().shape();
  const bool expert = model_.params()[p].expert;
  const int t = r.value() % (expert ? shape.expert_tp : shape.tp);
  const int g = expert ? r.value() / (shape.expert_tp * shape.ep) % shape.expert_gtp_remat
                       : r.value() / shape.tp % shape.gtp_remat;
  const auto cell = oracles_[p.at()].element(g, t, {row, col});
  return cell ? first_id_[p.at()] + cell->row * model_.params()[p].shape.cols + cell->col : kZero;
}

ProgramWalk::Place ProgramWalk::place_of(WorldRank r, const Region& region) const {
  const auto& slot = program(r)[region.buffer].slot;
  require(slot.has_value(), text("{} is no array of a parameter", program(r)[region.buffer].name));
  require(region.offset.value() % slot->cols == 0 && region.size.value() % slot->cols == 0, "not whole rows");
  return {slot->param,
          {slot->rows.begin + region.offset.value() / slot->cols, region.size.value() / slot->cols}};
}

void ProgramWalk::fill_weights(WorldRank r) {
  for (std::size_t i = 0; i < program(r).buffers.size(); ++i) {
    const auto& slot = program(r).buffers[i].slot;
    if (!slot || slot->kind != StateKind::kWeight) continue;
    const RankMemory::View weight = memory(r).view(BufferId{static_cast<int>(i)});
    for (std::int64_t k = 0; k < weight.size(); ++k)
      weight.set(k, shard_id(r, slot->param, k / slot->cols, k % slot->cols));
  }
}

void ProgramWalk::run() {
  std::deque<WorldRank> ready;
  for (std::size_t r = 0; r < programs_.size(); ++r) ready.emplace_back(static_cast<int>(r));
  while (!ready.empty()) {
    const WorldRank r = ready.front();
    ready.pop_front();
    advance(r);
    const auto at = static_cast<std::size_t>(next_[index(r)]);
    if (at == program(r).ops.size() || !meet(r)) continue;
    const std::vector<WorldRank> members = model_.grid().members(*group_of(program(r).ops[at]), r);
    exchange(members);
    ready.insert(ready.end(), members.begin(), members.end());
  }
  for (std::size_t r = 0; r < programs_.size(); ++r)
    require(next_[r] == static_cast<int>(programs_[r].ops.size()),
            text("rank {} waits for ever at op {}", r, next_[r]));
}

void ProgramWalk::advance(WorldRank r) {
  const std::vector<Op>& ops = program(r).ops;
  for (int& next = next_[index(r)]; next < static_cast<int>(ops.size()); ++next) {
    const Op& op = ops[static_cast<std::size_t>(next)];
    if (is_collective(op)) return;
    memory(r).begin_lives(next);
    try {
      run_local(r, op);
    } catch (const WalkError& error) {
      throw WalkError(text("rank {}, op {} ({}): {}", r.value(), next, name_of(op.phase), error.what()));
    }
  }
}

void ProgramWalk::run_local(WorldRank r, const Op& op) {
  std::visit(
      [&](const auto& work) {
        if constexpr (requires { apply(r, work); })
          apply(r, work);
        else
          throw WalkError("a collective is not local");
      },
      op.work);
}

bool ProgramWalk::meet(WorldRank r) {
  const GroupKey group = *group_of(program(r).ops[static_cast<std::size_t>(next_[index(r)])]);
  int& waiting = waiting_[{group, model_.grid().members(group, r).front()}];
  if (++waiting < model_.grid().group_size(group)) return false;
  waiting = 0;
  return true;
}

void ProgramWalk::exchange(const std::vector<WorldRank>& members) {
  for (const WorldRank r : members) {
    require(next_op(r).work.index() == next_op(members[0]).work.index(),
            text("ranks {} and {} are in different collectives", members[0].value(), r.value()));
    memory(r).begin_lives(next_[index(r)]);
  }
  if (std::holds_alternative<AllReduceOp>(next_op(members[0]).work))
    add_up(members);
  else
    exchange_segments(members);
  for (const WorldRank r : members) ++next_[index(r)];
}

void ProgramWalk::exchange_segments(const std::vector<WorldRank>& members) {
  std::vector<Wire> wires;
  for (const WorldRank r : members) wires.push_back(wire_of(next_op(r), members.size()));
  for (std::size_t from = 0; from < members.size(); ++from) {
    for (std::size_t to = 0; to < members.size(); ++to) {
      const Segment out = wires[from].sends.at(to), in = wires[to].receives.at(from);
      if (out.size != in.size)
        throw WalkError(text("rank {} sends {} elements to rank {}, which expects {}", members[from].value(),
                             out.size.value(), members[to].value(), in.size.value()));
      const RankMemory::View source =
          memory(members[from]).view(Region{wires[from].send, out.offset, out.size});
      const RankMemory::View target = memory(members[to]).view(Region{wires[to].receive, in.offset, in.size});
      for (std::int64_t i = 0; i < out.size.value(); ++i) target.set(i, source.get(i));
    }
  }
}

void ProgramWalk::apply(WorldRank r, const MomentumOp& op) {
  for (const MomentumItem& item : op.items) {
    const Place place = place_of(r, item.gradient);
    require(place_of(r, item.master) == place && place_of(r, item.momentum) == place,
            "gradient, master and momentum are of different rows");
    const std::int64_t cols = program(r)[item.gradient.buffer].slot->cols;
    if (!item.ns_input) continue;
    const RankMemory::View out = memory(r).view(*item.ns_input);
    require(out.size() == place.rows.count * cols, "ns_input has another size than the gradient");
    for (std::int64_t i = 0; i < out.size(); ++i)
      out.set(i, shard_id(r, place.param, place.rows.begin + i / cols, i % cols));
  }
}

void ProgramWalk::apply(WorldRank r, const CopyOp& op) {
  // Any order must do: every other rank goes backwards.
  std::vector<Tile> tiles = op.tiles;
  if (r.value() % 2 == 1) std::reverse(tiles.begin(), tiles.end());
  for (const Tile& tile : tiles) {
    const RankMemory::View from = memory(r).view(tile.src), to = memory(r).view(tile.dst);
    for (std::int64_t row = 0; row < tile.shape.rows; ++row)
      for (std::int64_t col = 0; col < tile.shape.cols; ++col)
        to.set(tile.dst_offset.value() + row * tile.dst_stride + col,
               from.get(tile.src_offset.value() + row * tile.src_stride + col));
  }
}

void ProgramWalk::apply(WorldRank r, const ZeroFillOp& op) {
  for (const Region& region : op.regions) {
    const RankMemory::View pads = memory(r).view(region);
    for (std::int64_t i = 0; i < pads.size(); ++i) pads.set(i, kZero);
  }
}

void ProgramWalk::apply(WorldRank r, const UpdateOp& op) {
  for (const UpdateItem& item : op.items) {
    const Region& target = item.weight ? *item.weight : item.master;
    const Place place = place_of(r, target);
    require(place_of(r, item.master) == place, "master and weight are of different rows");
    const RankMemory::View update = memory(r).view(item.update), weight = memory(r).view(target);
    require(update.size() == weight.size(), "an update of another size than the weight");
    for (std::int64_t i = 0; i < update.size(); ++i) {
      const Id own = weight.get(i);
      const Id expected = own == kZero ? kZero : own + kDone;
      const bool unscaled = own != kZero && update.get(i) == own + kUnscaled;
      if (update.get(i) != expected && !unscaled)
        throw WalkError(text("{}: update {} of the shard is {}, expected {}",
                             model_.params()[place.param].name, i, update.get(i), expected));
      if (own != kZero && item.scale != (unscaled ? scale_of(place.param, own) : NsScale{}))
        throw WalkError(text("{}: update {} of the shard is multiplied by {} and {}",
                             model_.params()[place.param].name, i, item.scale.factor, item.scale.extra));
      weight.set(i, expected);
    }
  }
}

void ProgramWalk::apply(WorldRank r, const AdamOp& op) {
  for (const AdamItem& item : op.items) {
    const Region& target = item.weight ? *item.weight : item.master;
    const Place place = place_of(r, target);
    for (const Region& other : {item.gradient, item.master, item.exp_avg, item.exp_avg_sq})
      require(place_of(r, other) == place, "arrays of one Adam item are of different rows");
    const RankMemory::View weight = memory(r).view(target);
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      if (weight.get(i) < 0 || weight.get(i) >= kDone)
        throw WalkError("a pad, or an element that is updated twice");
      weight.set(i, weight.get(i) + kDone);
    }
  }
}

void ProgramWalk::check_weights() {
  for (std::size_t r = 0; r < programs_.size(); ++r) {
    const WorldRank rank(static_cast<int>(r));
    for (std::size_t b = 0; b < program(rank).buffers.size(); ++b) {
      const auto& slot = program(rank).buffers[b].slot;
      if (!slot || slot->kind != StateKind::kWeight) continue;
      const Parameter& param = model_.params()[slot->param];
      const RankMemory::View weight = memory(rank).view(BufferId{static_cast<int>(b)});
      for (std::int64_t i = 0; i < weight.size(); ++i) {
        const Id own = shard_id(rank, slot->param, i / slot->cols, i % slot->cols);
        const Id expected = own != kZero && param.has_gradient() ? own + kDone : own;
        if (weight.get(i) != expected)
          throw WalkError(text("rank {}: {}: element {} of the shard is {}, expected {}", r, param.name, i,
                               weight.get(i), expected));
      }
    }
  }
}

}  // namespace muonbench
