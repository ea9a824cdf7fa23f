// SPDX-License-Identifier: Apache-2.0
#include "dataplane/programs/message_stream.h"

namespace bfly::dataplane {
namespace {

bool BeginsPass(const Message* messages) { return messages[0].marker == Marker::kBegin; }
bool EndsPass(const ProgramFrame& frame, const Message* messages) {
  return messages[frame.messages - 1].marker == Marker::kEnd;
}

// Counts the messages without the markers.
uint32_t MessagesOf(const ProgramFrame& frame, const Message* messages) {
  uint32_t count = static_cast<uint32_t>(frame.messages);
  if (EndsPass(frame, messages)) --count;
  if (BeginsPass(messages)) --count;
  return count;
}

}  // namespace

ProgramFrame MessageSender::FrameFor(const Message* messages, int count, bool back) const {
  ProgramFrame frame{.run = run_, .number = number_, .messages = count, .back = back};
  frame.total = (at_pass_end_ ? 0 : total_) + MessagesOf(frame, messages);
  return frame;
}

void MessageSender::Sent(const ProgramFrame& frame, const Message* messages) {
  ++number_;
  total_ = frame.total;
  at_pass_end_ = EndsPass(frame, messages);
}

void MessageReceiver::Begin(RunNumber run) {
  run_ = run;
  next_ = 0;
  total_ = 0;
  in_pass_ = false;
  ended_ = false;
}

// Only a later run of the same data plane is accepted, so a frame that was on its way for long does
// not end the run that followed. Another data plane, or the same one after a restart, draws another
// high half.
bool MessageReceiver::BeginsRun(const ProgramFrame& frame, const Message* messages) const {
  if (!forward_ || frame.number != 0 || !BeginsPass(messages)) return false;
  const auto ahead =
      static_cast<int32_t>(static_cast<uint32_t>(frame.run) - static_cast<uint32_t>(run_));
  return frame.run >> 32 != run_ >> 32 || ahead > 0;
}

bool MessageReceiver::Fits(const ProgramFrame& frame, const Message* messages) {
  if (frame.number != next_) return false;
  // Messages that go back have no marker before them.
  if (forward_ && BeginsPass(messages) == in_pass_) return false;
  if (!in_pass_) total_ = 0;
  ++next_;
  total_ += MessagesOf(frame, messages);
  in_pass_ = !EndsPass(frame, messages);
  return total_ <= most_ && total_ == frame.total;
}

MessageReceiver::Verdict MessageReceiver::Take(const ProgramFrame& frame, const Message* messages) {
  if (frame.run != run_) {
    if (!BeginsRun(frame, messages)) return Verdict::kForeign;
    Begin(frame.run);
  }
  if (ended_) return Verdict::kForeign;
  if (static_cast<int32_t>(frame.number - next_) < 0) return Verdict::kAgain;
  if (Fits(frame, messages)) return Verdict::kTake;
  ended_ = true;
  return Verdict::kLost;
}

}  // namespace bfly::dataplane
