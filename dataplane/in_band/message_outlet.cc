// SPDX-License-Identifier: Apache-2.0
#include "dataplane/in_band/message_outlet.h"

#include <algorithm>

namespace bfly::dataplane {

// Messages of a run that ended, with its markers, may stand before the messages of the next run.
std::span<Message> MessageOutlet::Next() {
  count_ += static_cast<int>(
      from_.Pop(waiting_.data() + count_, static_cast<uint32_t>(rules_.messages - count_)));
  if (skips_) Skip();
  int next = 0;
  while (next < count_) {
    const Marker marker = waiting_[next].marker;
    if (marker == Marker::kBegin && next > 0) break;
    ++next;
    if (marker == Marker::kEnd) break;
  }
  return {waiting_.data(), static_cast<size_t>(next)};
}

void MessageOutlet::Skip() {
  const auto first = std::find_if(waiting_.begin(), waiting_.begin() + count_, [this](Message& m) {
    return m.marker == Marker::kEnd && m.slot == static_cast<uint32_t>(sender_.run());
  });
  skips_ = first == waiting_.begin() + count_;
  count_ = static_cast<int>(std::copy(first, waiting_.begin() + count_, waiting_.begin()) -
                            waiting_.begin());
}

bool MessageOutlet::SendNext(std::span<const Message> next) {
  const auto sent = static_cast<int>(next.size());
  const ProgramFrame frame = sender_.FrameFor(next.data(), sent, back_);
  if (!Write(frame, next.data())) return false;
  sender_.Sent(frame, next.data());
  std::copy(waiting_.begin() + sent, waiting_.begin() + count_, waiting_.begin());
  count_ -= sent;
  return true;
}

void MessageOutlet::SendLost(uint64_t run, int after_stage) {
  Write({.run = run, .back = true, .lost = true, .lost_after = after_stage}, nullptr);
}

bool MessageOutlet::Write(const ProgramFrame& frame, const Message* messages) {
  return wire_.Send(bytes_.data(), WriteProgramFrame(frame, rules_, messages, bytes_.data()));
}

}  // namespace bfly::dataplane
