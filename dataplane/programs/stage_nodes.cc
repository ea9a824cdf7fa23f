// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/stage_nodes.h"

#include <cstring>

namespace bfly::dataplane {

StageNodes::StageNodes(const Network& network, int stage, bool collides,
                       const LinkCapacity& capacity)
    : links_(network.rows() * static_cast<uint32_t>(network.ports())),
      mask_(network.wiring(stage).mask),
      stage_(stage),
      shift_(network.hops() - 1 - stage),
      collides_(collides),
      down_((links_ + 63) / 64),
      marks_(collides ? std::make_unique<uint8_t[]>(links_) : nullptr),
      circuits_(std::make_unique<std::atomic<uint32_t>[]>(links_)) {
  for (uint32_t link = 0; capacity.limited() && link < links_; ++link) {
    const uint32_t most = capacity.at(network.link_index({stage, 0, 0}) + link);
    capacity_.push_back(most == LinkCapacity::kUnlimited ? ~0u : most);
  }
  if (network.wiring(stage).table.empty()) return;
  cross_.resize(network.rows());
  crossed_from_.resize(network.rows());
  for (Row row = 0; row < network.rows(); ++row) {
    cross_[row] = network.next_row(stage, row, (row & mask_) == 0);
    crossed_from_[cross_[row]] = row;
  }
}

void StageNodes::Forward(Message* burst, int count) {
  if (count > 0 && burst->marker == Marker::kBegin) {
    pass_ = &PassAt(burst->slot);
    if (marked_) std::memset(marks_.get(), 0, links_);
    marked_ = false;
    if (pass_->begins()) pass_->Begin(*this);
    ++burst;
    --count;
  }
  if (count > 0 && burst[count - 1].marker == Marker::kEnd) --count;
  if (count > 0) pass_->Forward(*this, burst, count);
}

void StageNodes::Backward(Message* burst, int count) {
  if (count > 0 && burst[count - 1].marker == Marker::kEnd) --count;
  if (count > 0) pass_->Backward(*this, burst, count);
}

void StageNodes::SetLinkUp(uint32_t link, bool up) {
  if (IsDown(link) != up) return;
  down_[link / 64].fetch_xor(uint64_t{1} << link % 64, std::memory_order_relaxed);
  downs_.fetch_add(up ? ~0u : 1u, std::memory_order_relaxed);
}

void StageNodes::ForgetCircuits() {
  for (uint32_t link = 0; link < links_; ++link) {
    circuits_[link].store(0, std::memory_order_relaxed);
  }
  crossings_ = 0;
}

void StageNodes::Cross(Message* burst, int count) const {
  Cross(burst, count, [](Message&, uint32_t) {});
}

void StageNodes::CrossBack(Message* burst, int count) const {
  CrossBack(burst, count, [](Message&, uint32_t) {});
}

void StageNodes::CrossAndAdd(Message* burst, int count, uint32_t more) {
  crossings_ += static_cast<uint64_t>(count) * static_cast<uint64_t>(static_cast<int32_t>(more));
  Cross(burst, count, [circuits = circuits_.get(), more](Message&, uint32_t link) {
    circuits[link].store(circuits[link].load(std::memory_order_relaxed) + more,
                         std::memory_order_relaxed);
  });
}

void Pass::Forward(StageNodes& nodes, Message* burst, int count) const {
  nodes.Cross(burst, count);
}

void Pass::Backward(StageNodes& nodes, Message* burst, int count) const {
  nodes.CrossBack(burst, count);
}

}  // namespace bfly::dataplane
