// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/trunk_ends.h"

#include <algorithm>

#include "dataplane/in_band/in_band_memory.h"

namespace bfly::dataplane {
namespace {

std::optional<DropReason> FateOf(MessageReceiver::Verdict verdict) {
  switch (verdict) {
    case MessageReceiver::Verdict::kTake:
      return std::nullopt;
    case MessageReceiver::Verdict::kAgain:
      return DropReason::kTrunkDuplicate;
    case MessageReceiver::Verdict::kForeign:
    case MessageReceiver::Verdict::kLost:
      break;
  }
  return DropReason::kTrunkForeign;
}

bool EndsWithMarker(std::span<const Message> messages) {
  return messages.back().marker == Marker::kEnd;
}

}  // namespace

DownstreamEnd::DownstreamEnd(ProgramWire& wire, const ProgramFrameRules& rules,
                             InBandOrders& orders)
    : wire_(wire),
      rules_(rules),
      orders_(orders),
      forward_(kSlotsToWire),
      backward_(SlotsFromWire(rules.rows)),
      outlet_(wire, rules, forward_, /*back=*/false),
      back_(/*forward=*/false, MostMessages(rules.rows)) {}

void DownstreamEnd::Carry(Ledger& ledger) {
  wire_.Receive(*this, ledger);
  for (std::span<Message> next = outlet_.Next(); !next.empty(); next = outlet_.Next()) {
    if (next[0].marker == Marker::kBegin && next[0].tag != outlet_.run()) {
      outlet_.BeginRun(next[0].tag);
      back_.Begin(next[0].tag);
    }
    Note(next);
    if (!outlet_.SendNext(next)) return;
  }
}

// Gets the same messages again if the device did not take them.
void DownstreamEnd::Note(std::span<const Message> sent) {
  if (sent[0].marker == Marker::kBegin) highest_slot_ = 0;
  for (const Message& m : sent) {
    if (m.marker == Marker::kNone) highest_slot_ = std::max(highest_slot_, m.slot);
  }
}

// Programs keep what they know of a message at its slot, so a slot that was not sent must not come.
bool DownstreamEnd::WereSent(std::span<const Message> messages) const {
  if (!outlet_.at_pass_end() || back_.total() > outlet_.total()) return false;
  if (EndsWithMarker(messages) && back_.total() != outlet_.total()) return false;
  return std::all_of(messages.begin(), messages.end(), [this](const Message& m) {
    return m.marker != Marker::kNone || m.slot <= highest_slot_;
  });
}

void DownstreamEnd::EndRun(int after_stage) {
  back_.End();
  orders_.Lost(outlet_.run(), after_stage);
}

std::optional<DropReason> DownstreamEnd::Take(const uint8_t* bytes, uint32_t length) {
  ProgramFrame frame;
  DropReason reason;
  if (!ReadProgramFrame(bytes, length, rules_, frame, received_, reason)) return reason;
  if (!frame.back) return DropReason::kBadHeader;
  if (frame.lost) {
    if (frame.run != back_.run() || back_.ended()) return DropReason::kTrunkForeign;
    EndRun(frame.lost_after);
    return std::nullopt;
  }
  const MessageReceiver::Verdict verdict = back_.Take(frame, received_);
  const std::span<const Message> messages(received_, static_cast<size_t>(frame.messages));
  if (verdict == MessageReceiver::Verdict::kLost ||
      (verdict == MessageReceiver::Verdict::kTake &&
       (!WereSent(messages) || backward_.room() < messages.size()))) {
    EndRun(rules_.stage);
    return DropReason::kTrunkForeign;
  }
  if (verdict != MessageReceiver::Verdict::kTake) return FateOf(verdict);
  if (EndsWithMarker(messages) && messages.back().notes[0] != 0) {
    orders_.out_of_step_run.store(back_.run(), std::memory_order_relaxed);
  }
  backward_.Push(messages.data(), static_cast<uint32_t>(messages.size()));
  return std::nullopt;
}

UpstreamEnd::UpstreamEnd(ProgramWire& wire, const ProgramFrameRules& rules, InBandOrders& orders,
                         uint64_t (*now)(), uint64_t limit)
    : rules_(rules),
      orders_(orders),
      now_(now),
      limit_(limit),
      forward_(SlotsFromWire(rules.rows)),
      backward_(kSlotsToWire),
      outlet_(wire, rules, backward_, /*back=*/true),
      in_(/*forward=*/true, MostMessages(rules.rows)) {}

void UpstreamEnd::EndRun(int after_stage) {
  in_.End();
  outlet_.SendLost(in_.run(), after_stage);
  Rest();
}

std::optional<DropReason> UpstreamEnd::Take(const uint8_t* bytes, uint32_t length) {
  ProgramFrame frame;
  DropReason reason;
  if (!ReadProgramFrame(bytes, length, rules_, frame, received_, reason)) return reason;
  if (frame.back) return DropReason::kBadHeader;
  const uint64_t before = in_.run();
  const bool well = !in_.ended();
  const MessageReceiver::Verdict verdict = in_.Take(frame, received_);
  if (in_.run() != before) {
    in_step_ = well && IsNext(in_.run(), before);
    outlet_.BeginRun(in_.run());
  }
  const auto count = static_cast<uint32_t>(frame.messages);
  if (verdict == MessageReceiver::Verdict::kLost ||
      (verdict == MessageReceiver::Verdict::kTake && forward_.room() < count)) {
    EndRun(rules_.stage);
    return DropReason::kTrunkForeign;
  }
  if (verdict != MessageReceiver::Verdict::kTake) return FateOf(verdict);
  forward_.Push(received_, count);
  moved_ = now_();
  orders_.active.store(true, std::memory_order_release);
  return std::nullopt;
}

void UpstreamEnd::Carry() {
  if (in_.ended()) return Rest();
  if (orders_.lost_run.load(std::memory_order_acquire) == in_.run()) {
    return EndRun(orders_.lost_after.load(std::memory_order_relaxed));
  }
  for (std::span<Message> next = outlet_.Next(); !next.empty(); next = outlet_.Next()) {
    const bool ends = EndsWithMarker(next);
    if (ends && !in_step_) next.back().notes[0] = 1;
    if (!outlet_.SendNext(next)) break;
    moved_ = now_();
    // Nothing can be carried here until the next pass begins.
    if (ends) return Rest();
  }
  if (now_() - moved_ > limit_) {
    in_.End();
    Rest();
  }
}

}  // namespace bfly::dataplane
