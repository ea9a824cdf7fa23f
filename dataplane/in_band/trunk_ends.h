// SPDX-License-Identifier: Apache-2.0
// The trunks of a data plane as programs see them: messages leave over one of them to the data
// plane behind, which runs the stages that follow, and come back over it. Whatever comes over a
// trunk is checked: a frame that lies is dropped, and one that shows that messages are missing ends
// the run. The worker that has the trunk's data has its messages too.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "dataplane/core/ledger.h"
#include "dataplane/in_band/in_band_orders.h"
#include "dataplane/in_band/message_outlet.h"
#include "dataplane/in_band/program_wire.h"
#include "dataplane/programs/message_stream.h"
#include "dataplane/programs/program_frame.h"

namespace bfly::dataplane {

// Of a trunk to the data plane behind.
class OnwardEnd final : public ProgramFrames {
 public:
  OnwardEnd(ProgramWire& wire, const ProgramFrameRules& rules, InBandOrders& orders);

  // From the last stage of this data plane, and back to it.
  MessageRing& forward() { return forward_; }
  MessageRing& backward() { return backward_; }

  // While a program runs.
  void Carry(Ledger& ledger);

 private:
  std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) override;
  void Note(std::span<const Message> sent);
  // Whether these may be ones that were sent.
  bool ComeBack(std::span<const Message> messages) const;
  void Lose(int after_stage);

  ProgramWire& wire_;
  const ProgramFrameRules rules_;
  InBandOrders& orders_;
  MessageRing forward_, backward_;
  MessageOutlet outlet_;
  MessageReceiver back_;
  uint32_t highest_slot_ = 0;  // of the messages of the pass that were sent
  Message received_[kMessagesAFrame];
};

// Of a trunk from the data plane before.
class HomewardEnd final : public ProgramFrames {
 public:
  // `limit`, in units of `now`: how long a pass may stand still.
  HomewardEnd(ProgramWire& wire, const ProgramFrameRules& rules, InBandOrders& orders,
              uint64_t (*now)(), uint64_t limit);

  // To the first stage of this data plane, and back from it.
  MessageRing& forward() { return forward_; }
  MessageRing& backward() { return backward_; }

  // While a program runs.
  void Carry();
  std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) override;

 private:
  void Rest() { orders_.active.store(false, std::memory_order_release); }
  void Lose(int after_stage);

  const ProgramFrameRules rules_;
  InBandOrders& orders_;
  uint64_t (*const now_)();
  const uint64_t limit_;
  MessageRing forward_, backward_;
  MessageOutlet outlet_;
  MessageReceiver in_;
  bool in_step_ = false;  // this run goes on from the last one
  uint64_t moved_ = 0;    // when something last came or went
  Message received_[kMessagesAFrame];
};

}  // namespace bfly::dataplane
