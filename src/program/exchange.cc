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
                    ShardExchange(std::move(list.forward), size, me),
                    ShardExchange(std::move(list.reverse), size, me),
                    std::move(list.matrices),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {}};
  const auto buffer = [&](const char* what, Elements elements, DType dtype) {
    return emitter.builder().add_transient(text("{}.{}", name, what), elements, dtype, MemoryUse::kExchange);
  };
  const DType back = emitter.inputs().travel.return_dtype;
  exchange.send = buffer("send", exchange.forward.shard_side_size(), DType::kFp32);
  exchange.own = buffer("own", exchange.forward.own_block_size(), DType::kFp32);
  exchange.receive = buffer("receive", exchange.forward.home_side_size(), DType::kFp32);
  exchange.send_back = buffer("send_back", exchange.reverse.home_side_size(), back);
  exchange.own_back = buffer("own_back", exchange.reverse.own_block_size(), back);
  exchange.receive_back = buffer("receive_back", exchange.reverse.shard_side_size(), back);
  return exchange;
}

}  // namespace muonbench
