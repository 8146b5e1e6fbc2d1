// Copyright (c) 2026 the muonbench authors.
// SPDX-License-Identifier: Apache-2.0
#include "src/program/exchange.h"

#include <utility>

#include "src/base/text.h"

namespace muonbench {

Exchange make_exchange(Emitter& emitter, GroupKey group, ExchangeList list, const std::string& name) {
  const int size = emitter.inputs().grid.group_size(group);
  const GroupRank me = emitter.index_in(group);
  Exchange exchange{group,
                    {ShardExchange(std::move(list.forward), size, me), {}, {}, {}},
                    {ShardExchange(std::move(list.reverse), size, me), {}, {}, {}},
                    std::move(list.matrices)};
  const auto buffer = [&](const char* what, Elements elements, DType dtype) {
    return emitter.builder().add_transient(text("{}.{}", name, what), elements, dtype, MemoryUse::kExchange);
  };
  const DType dtype_back = emitter.inputs().travel.return_dtype;
  auto& [there, out, in, own] = exchange.forward;
  out = buffer("send", there.shard_side_size(), DType::kFp32);
  own = buffer("own", there.own_block_size(), DType::kFp32);
  in = buffer("receive", there.home_side_size(), DType::kFp32);
  auto& [back, in_back, out_back, own_back] = exchange.reverse;
  out_back = buffer("send_back", back.home_side_size(), dtype_back);
  own_back = buffer("own_back", back.own_block_size(), dtype_back);
  in_back = buffer("receive_back", back.shard_side_size(), dtype_back);
  return exchange;
}

}  // namespace muonbench
