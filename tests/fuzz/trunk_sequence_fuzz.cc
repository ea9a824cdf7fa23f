// SPDX-License-Identifier: Apache-2.0
// A trunk whose cable loses, delays, repeats and forges: an input is a script of what happens. A
// forged frame is a valid one, written and read as on a trunk, that lies in its session or its
// number. Whatever the script says, the receiver takes no number twice, and in the
// end every number that the sender gave is taken once or counted as lost. After an outage a number
// that was taken may be counted as lost too.
#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "dataplane/frames/trunk_frame.h"
#include "dataplane/frames/trunk_sequence.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kSession = 0x5e551011;
constexpr TrunkRules kRules{.rows = 16, .stage = 1, .hops_left = 2, .queues = 1};
// Numbers ahead of the sender that a forged frame reaches: the window and the liar's choice of it.
constexpr uint64_t kAhead = TrunkSequence::kWindow;
// A delayed frame comes before so many others. Forged ones, of which a script of 4,096 bytes has
// 455, may stand between, so the sum is less than what proves a number lost.
constexpr uint32_t kLatest = 512;
// A frame takes many ticks. The receiver holds a number for false that lies so far ahead that its
// sender would have numbered more than a frame a tick since the last one was taken.
constexpr uint64_t kTicks = 1000;

void Require(bool what) {
  if (!what) std::abort();
}

class Cable {
 public:
  // A frame that does not come takes its time too.
  void Send() { Deliver(kSession, next_++); }
  void Lose() { ++next_, ++missing_, now_ += kTicks; }
  void Delay() { late_.push_back(next_++), now_ += kTicks; }
  void DeliverDelayed() {
    since_late_ = 0;
    for (const uint64_t number : std::exchange(late_, {})) Deliver(kSession, number);
  }
  // Loses more numbers at once than a window has. Two of them come in a row after `later` others.
  void LoseManyAndFindTwo(uint64_t later, uint64_t which) {
    constexpr uint64_t kOutage = 5000;
    const uint64_t found = next_ + which % (kOutage - 1);
    for (uint64_t i = 0; i < kOutage; ++i) Lose();
    for (uint64_t i = 0; i < later; ++i) Send();
    Forge(kSession, found);
    Forge(kSession, found + 1);
  }
  void Repeat(uint64_t back) { Forge(kSession, next_ - back % (next_ + 1)); }
  // At most as many in a row as the receiver does not believe. A frame that it takes ends a row,
  // and one whose number was forged before does not.
  void Forge(uint32_t session, uint64_t number) {
    ++forged_;
    if (++forged_in_a_row_ >= TrunkSequence::kEvidence) {
      while (forged_in_a_row_ > 0) Send();
      forged_in_a_row_ = 1;
    }
    uint8_t frame[64] = {};
    WriteTrunkHeader({.tag = uint64_t{3} << 62 | uint64_t{1} << 61,
                      .session = session,
                      .sequence = number,
                      .inner_bytes = 64,
                      .synthetic = true},
                     kRules, frame);
    TrunkPacket packet;
    DropReason reason;
    Require(ReadTrunkFrame(frame, sizeof(frame), kRules, packet, reason));
    Require(packet.session == session && packet.sequence == number);
    Arrive(packet.session, packet.sequence);
  }

  void CheckAccount() {
    DeliverDelayed();
    // All that was forged ahead comes from the sender too, and then a thousand more.
    const uint64_t end = std::max(next_, highest_) + kAhead + 2 * TrunkSequence::kReorder;
    while (next_ < end) Send();
    // If so many numbers are missing that the sender leaves the window, the receiver believes the
    // sixteenth frame in a row beyond it, and a forged frame between them makes it count anew.
    // Frames that come late are missing too meanwhile. Two forged frames in a row may lead it back
    // before such a jump, and then it gives up what is missing in the window.
    constexpr uint64_t kMissing = TrunkSequence::kWindow - TrunkSequence::kReorder - kLatest;
    const uint64_t leaves = missing_ / kMissing;
    const uint64_t counts = leaves > 0 ? leaves + forged_ : 0;
    const uint64_t given_up = leaves > 0 ? forged_ * TrunkSequence::kWindow : 0;
    // The receiver remembers one position to return to. After a further change it may count what it
    // took at an earlier one as lost.
    const uint64_t twice = leaves > 0 ? forged_ * TrunkSequence::kEvidence : 0;
    Require(taken_ + lost_ >= next_ && taken_ + lost_ <= next_ + twice);
    Require(lost_ <= missing_ + counts * (TrunkSequence::kEvidence - 1) + given_up);
  }

 private:
  void Deliver(uint32_t session, uint64_t number) {
    if (Arrive(session, number)) forged_in_a_row_ = 0;
  }
  // Returns whether the receiver takes the frame.
  bool Arrive(uint32_t session, uint64_t number) {
    const TrunkSequence::Step step = receiver_.Next(session, number, now_ += kTicks);
    lost_ += step.lost;
    if (step.take) Take(session, number);
    if (!late_.empty() && ++since_late_ == kLatest) DeliverDelayed();
    return step.take;
  }
  void Take(uint32_t session, uint64_t number) {
    // After an outage each forged frame may lead the receiver on by kAhead.
    Require(session == kSession && number <= next_ + kAhead * (1 + forged_));
    if (number >= seen_.size()) seen_.resize(2 * number + 64);
    Require(!seen_[number]);
    seen_[number] = true;
    highest_ = std::max(highest_, number);
    ++taken_;
  }

  TrunkSequence receiver_{uint64_t{1} << 60};
  std::vector<char> seen_;      // numbers taken
  std::vector<uint64_t> late_;  // numbers on their way
  uint64_t now_ = 0, next_ = 0, missing_ = 0, taken_ = 0, lost_ = 0, forged_ = 0;
  uint64_t highest_ = 0;  // of the numbers taken
  uint32_t forged_in_a_row_ = 0, since_late_ = 0;
};

}  // namespace
}  // namespace bfly::dataplane

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  using namespace bfly::dataplane;
  Cable cable;
  cable.Send();  // the first frame says which session it is
  uint64_t sent = 1;
  for (size_t at = 0; at + 9 <= size; at += 9) {
    const uint64_t value = LoadBe64(input + at + 1);
    switch (input[at] % 9) {
      case 0:
        for (uint64_t i = 0; i < value % 64; ++i, ++sent) cable.Send();
        break;
      case 1:
        for (uint64_t i = 0; i < value % 64; ++i, ++sent) cable.Lose();
        break;
      case 2:
        cable.Delay();
        break;
      case 3:
        cable.DeliverDelayed();
        break;
      case 4:
        cable.Repeat(value);
        break;
      case 5:
        cable.Forge(kSession, value);
        break;
      case 6:
        cable.Forge(kSession, sent + value % (2 * kAhead));
        break;
      case 7:
        cable.Forge(static_cast<uint32_t>(value), value >> 32);
        break;
      case 8:
        cable.LoseManyAndFindTwo(value % 128, value >> 32);
        break;
    }
  }
  cable.CheckAccount();
  return 0;
}
