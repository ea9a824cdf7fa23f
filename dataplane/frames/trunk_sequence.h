// SPDX-License-Identifier: Apache-2.0
// Tells which frames of a trunk are new, which are copies, and which never came. The code is pure.
//
// A sender draws a session number when it starts and counts the packets of each queue from 0. The
// receiver keeps a window over the numbers of one session, as RFC 6479 does, but a number that is
// missing counts as lost only on the evidence of frames that came after it, never on the distance
// of one number from another. A forged or damaged frame is one piece of evidence, whatever number
// it carries. docs/wire_header.md states the rules for users.
#pragma once

#include <array>
#include <cstdint>

namespace bfly::dataplane {

// The state of the receiver for one queue of the sender. Sequence numbers wrap at 2^64; only their
// differences are compared.
class TrunkSequence {
 public:
  // Numbers less than kWindow ahead of the first missing one are taken when they come.
  static constexpr uint32_t kWindow = 4096;
  // A missing number is lost when this many later numbers have come. A frame that comes still later
  // is treated as a copy.
  static constexpr uint32_t kReorder = 1024;
  // This many later numbers are enough when the queue has been quiet. As many frames in a row,
  // with no frame of the window between them, lead the window to another session or far ahead.
  static constexpr uint32_t kEvidence = 16;

  // What a frame told about its own packet and others. These packets are not in any account yet.
  struct Step {
    bool take = false;        // the frame is new; if false, the caller frees it
    uint64_t lost = 0;        // numbers that will not come any more
    uint64_t duplicates = 0;  // frames whose number came before or was counted as lost
    uint64_t foreign = 0;     // frames of a session or range that the receiver does not follow
  };

  // `quiet` is how long a queue is without a frame until it counts as quiet, in the unit of `now`.
  // `joins`: the sender may have sent to another receiver before. Numbers before that of the first
  // frame are not missing then.
  explicit TrunkSequence(uint64_t quiet, bool joins = false) : quiet_(quiet), joins_(joins) {}

  // A frame came at the time `now`, which never goes back. While the receiver waits for more frames
  // like it, the frame is not taken and no field of the step counts it.
  Step Next(uint32_t session, uint64_t sequence, uint64_t now) {
    if (in_order_ && session == at_.session && sequence == at_.base) {
      ++at_.base;
      at_.Took(now);
      return {.take = true};
    }
    return OutOfOrder(session, sequence, now);
  }

  // Call it now and then while no frame comes. Returns how many numbers it counts as lost.
  uint64_t Quiet(uint64_t now) {
    return in_order_ || now - at_.last < quiet_ ? 0 : GiveUpWhenQuiet();
  }

 private:
  // The progress of one sender, or of what pretends to be one.
  struct Position {
    uint32_t session = 0;
    bool believed = false;    // it was on trial and passed
    uint8_t since_mark = 0;   // frames taken since `mark`, below kEvidence
    uint64_t first = 0;       // the base when the receiver first came here
    uint64_t base = 0;        // the first number that is neither taken nor given up
    uint64_t last = 0;        // when a frame was taken
    uint64_t mark = 0;        // when the last kEvidence-th frame was taken
    uint64_t reach_from = 0;  // the mark before: at least kEvidence frames were taken since
    // Numbers given up that are lost if the position is believed, or believed again.
    uint64_t suspected = 0;

    void Took(uint64_t now) {
      last = now;
      if (++since_mark < kEvidence) return;
      since_mark = 0;
      reach_from = mark;
      mark = now;
    }
  };
  // Consecutive frames that do not fit the window.
  struct Rival {
    uint32_t session = 0;
    uint32_t frames = 0;
    uint64_t first = 0;
    uint64_t last = 0;
  };

  static bool IsBefore(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b) < 0; }

  Step OutOfOrder(uint32_t session, uint64_t sequence, uint64_t now);
  // The frame came before, or its number was given up.
  bool IsOld(uint32_t session, uint64_t sequence) const;
  // `sequence` is in the window.
  void TakeInWindow(uint64_t sequence, uint64_t now, Step& step);
  void ConsiderRival(uint32_t session, uint64_t sequence, uint64_t now, Step& step);
  // The number of the rival's frames after which the receiver follows the rival. `returns`: it goes
  // on from previous_. `ahead`: it has the session of at_ and higher numbers.
  uint32_t Needed(bool returns, bool ahead, uint64_t now) const;
  // While a change is on trial: the receiver left previous_ for lower numbers of its session.
  bool PreviousIsAhead() const {
    return trial_ > 0 && has_previous_ && previous_.session == at_.session &&
           IsBefore(at_.base, previous_.base);
  }
  // `sequence` is a number of such a previous_ or above them.
  bool IsOfPrevious(uint32_t session, uint64_t sequence) const {
    return session == at_.session && PreviousIsAhead() && !IsBefore(sequence, previous_.first);
  }
  // Gives up what is missing in the window, before the receiver goes elsewhere. Returns how many
  // numbers were taken or counted as lost since it came.
  uint64_t Leave(bool returns, Step& step);
  // Goes back to previous_. `accounted` is what Leave returned.
  void Return(uint64_t sequence, uint64_t accounted);
  void Follow(uint64_t sequence, bool ahead, uint64_t now);
  // The present position has passed its trial. Returns how many numbers are lost.
  uint64_t Believe();
  // Counts the first run of missing numbers as given up and moves the base behind the numbers that
  // follow it. above_ must be more than 0.
  uint64_t GiveUpFirst();
  uint64_t GiveUpWhenQuiet();
  void SkipTaken();

  bool bit(uint64_t n) const { return taken_[n % kWindow / 64] >> (n % 64) & 1; }

  const uint64_t quiet_;
  const bool joins_;
  bool known_ = false;     // a session is followed
  bool in_order_ = false;  // nothing is missing, nothing is on trial, there is no rival
  Position at_;
  uint32_t above_ = 0;  // numbers taken ahead of at_.base
  std::array<uint64_t, kWindow / 64> taken_{};
  Rival rival_;
  // The position before a change of session or range, and the number of frames until the change is
  // final. Until then two frames lead back.
  Position previous_;
  bool has_previous_ = false;
  uint32_t trial_ = 0;
  // A session that sent one frame on trial before a frame of another one came. If it goes on, the
  // receiver starts behind that frame.
  Position forgotten_;
  uint64_t entered_ = 0;  // at_.base when the receiver came, or came back, to this position
  // 1: after a return, a frame taken at the position that the receiver left stands for the number
  // entered_. If the receiver goes there again, that frame was true and the number is lost.
  uint64_t stands_for_ = 0;
};

}  // namespace bfly::dataplane
