// SPDX-License-Identifier: Apache-2.0
// The trunks of a data plane as programs use them. Messages leave over the downstream trunk to the
// data plane behind, which runs the stages that follow, and come back over it. All frames that come
// over a trunk are checked: a false frame is dropped, and a frame that shows that messages are
// missing ends the run. The worker that carries a trunk's frames carries its messages too.
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

// The end of a trunk to the data plane behind.
class DownstreamEnd final : public ProgramFrames {
 public:
  DownstreamEnd(ProgramWire& wire, const ProgramFrameRules& rules, InBandOrders& orders);

  // The rings from the last stage of this data plane, and back to it.
  MessageRing& forward() { return forward_; }
  MessageRing& backward() { return backward_; }

  // Call it in each pass of the worker while a program runs.
  void Carry(Ledger& ledger);

 private:
  std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) override;
  void Note(std::span<const Message> sent);
  // Whether these messages, which came back, can be messages that were sent.
  bool WereSent(std::span<const Message> messages) const;
  // The trunk behind `after_stage` lost messages of the run.
  void EndRun(int after_stage);

  ProgramWire& wire_;
  const ProgramFrameRules rules_;
  InBandOrders& orders_;
  MessageRing forward_, backward_;
  MessageOutlet outlet_;
  MessageReceiver back_;
  uint32_t highest_slot_ = 0;  // the highest slot of the messages of the pass that were sent
  Message received_[kMessagesAFrame];
};

// The end of a trunk from the data plane before.
class UpstreamEnd final : public ProgramFrames {
 public:
  // `limit`, in units of `now`, is the longest time within a pass in which no message comes or
  // goes.
  UpstreamEnd(ProgramWire& wire, const ProgramFrameRules& rules, InBandOrders& orders,
              uint64_t (*now)(), uint64_t limit);

  // The rings to the first stage of this data plane, and back from it.
  MessageRing& forward() { return forward_; }
  MessageRing& backward() { return backward_; }

  // Call it in each pass of the worker while a program runs.
  void Carry();
  std::optional<DropReason> Take(const uint8_t* frame, uint32_t length) override;

 private:
  void Rest() { orders_.active.store(false, std::memory_order_release); }
  void EndRun(int after_stage);

  const ProgramFrameRules rules_;
  InBandOrders& orders_;
  uint64_t (*const now_)();
  const uint64_t limit_;
  MessageRing forward_, backward_;
  MessageOutlet outlet_;
  MessageReceiver in_;
  bool in_step_ = false;  // this data plane took part in the run before this one
  uint64_t moved_ = 0;    // when a message last came or went
  Message received_[kMessagesAFrame];
};

}  // namespace bfly::dataplane
