// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/trunk_sequence.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace bfly::dataplane {

TrunkSequence::Step TrunkSequence::OutOfOrder(uint32_t session, uint64_t sequence, uint64_t now) {
  Step step;
  if (!known_) {
    // A receiver accepts the first frame that it sees, and tries its session as it tries others.
    known_ = true;
    entered_ = joins_ || sequence >= kReorder ? sequence : 0;
    at_ = {.session = session,
           .first = entered_,
           .base = entered_,
           .last = now,
           .mark = now,
           .reach_from = now};
    trial_ = kReorder;
  }
  if (session == at_.session && sequence - at_.base < kWindow && !IsOfPrevious(session, sequence)) {
    TakeInWindow(sequence, now, step);
  } else if (IsOld(session, sequence)) {
    step.duplicates = 1;
  } else {
    ConsiderRival(session, sequence, now, step);
  }
  in_order_ = above_ == 0 && trial_ == 0 && rival_.frames == 0;
  return step;
}

bool TrunkSequence::IsOld(uint32_t session, uint64_t sequence) const {
  if (session == at_.session) {
    if (at_.base - sequence <= kWindow) return true;
    // A range on trial may be longer than a window.
    if (trial_ > 0 && !IsBefore(sequence, at_.first) && IsBefore(sequence, at_.base)) return true;
    if (IsOfPrevious(session, sequence) && IsBefore(sequence, previous_.base)) return true;
  }
  return has_previous_ && session == previous_.session && previous_.base - sequence - 1 < kWindow;
}

void TrunkSequence::TakeInWindow(uint64_t sequence, uint64_t now, Step& step) {
  if (sequence != at_.base && bit(sequence)) {
    step.duplicates = 1;
    return;
  }
  step.take = true;
  at_.Took(now);
  // The sender that the receiver follows is alive, so frames of another sender are not a restart.
  step.foreign += rival_.frames;
  rival_.frames = 0;
  if (trial_ > 0 && --trial_ == 0) step.lost += Believe();
  if (sequence == at_.base) {
    ++at_.base;
    SkipTaken();
    return;
  }
  taken_[sequence % kWindow / 64] |= uint64_t{1} << (sequence % 64);
  ++above_;
  while (above_ >= kReorder) step.lost += GiveUpFirst();
}

void TrunkSequence::ConsiderRival(uint32_t session, uint64_t sequence, uint64_t now, Step& step) {
  const bool continues =
      rival_.frames > 0 && session == rival_.session && sequence - rival_.last - 1 < kReorder;
  if (!continues) {
    step.foreign += rival_.frames;
    rival_ = {.session = session, .frames = 0, .first = sequence, .last = sequence};
  }
  ++rival_.frames;
  rival_.last = sequence;

  // No sender numbers more than a packet a tick, so a number further ahead is false. The ticks
  // since the last frame say too little: after an outage that may be a late one, or a forged one.
  const auto reachable = [&](const Position& from) {
    return sequence - from.base <= kWindow + (now - from.reach_from);
  };
  const bool ahead = session == at_.session && IsBefore(at_.base, sequence);
  const bool returns = trial_ > 0 && has_previous_ && session == previous_.session &&
                       (!ahead || PreviousIsAhead()) && reachable(previous_);
  if (rival_.frames < Needed(returns, ahead, now)) return;
  if (ahead && !returns && !reachable(at_)) {
    step.foreign += rival_.frames;
    rival_.frames = 0;
    return;
  }
  const uint64_t accounted = Leave(returns, step);
  if (returns) {
    Return(sequence, accounted);
  } else {
    Follow(sequence, ahead, now);
  }
  trial_ = kReorder;
  rival_.frames = 0;
  TakeInWindow(sequence, now, step);
}

uint32_t TrunkSequence::Needed(bool returns, bool ahead, uint64_t now) const {
  if (returns && rival_.last - previous_.base < kWindow) return 2;
  const bool quiet = now - at_.last >= quiet_;
  if (!quiet) return kEvidence;
  if (returns) return 2;
  if (rival_.session != at_.session) return 1;
  // A sender that was silent does not go back.
  return ahead ? 2 : kEvidence;
}

uint64_t TrunkSequence::Leave(bool returns, Step& step) {
  uint64_t unproven = 0;
  while (above_ > 0) {
    const bool proven = at_.believed && above_ >= kEvidence;
    (proven ? step.lost : unproven) += GiveUpFirst();
  }
  at_.suspected += unproven;
  if (returns) step.lost += stands_for_;
  stands_for_ = 0;
  return at_.base - entered_ - unproven;
}

void TrunkSequence::Return(uint64_t sequence, uint64_t accounted) {
  const bool forward = PreviousIsAhead();
  std::swap(at_, previous_);
  // What was taken or lost meanwhile was suspected when the receiver went ahead.
  if (forward) at_.suspected -= std::min(at_.suspected, accounted);
  entered_ = at_.base;
  if (sequence - at_.base >= kWindow) {
    at_.suspected += sequence - at_.base;
    at_.base = entered_ = sequence;
  } else if (!forward && !previous_.believed && sequence != at_.base) {
    ++at_.base;
    stands_for_ = 1;
  }
}

void TrunkSequence::Follow(uint64_t sequence, bool ahead, uint64_t now) {
  Position next{.session = rival_.session, .base = rival_.first, .mark = now, .reach_from = now};
  if (ahead) {
    next.base = at_.base;
    next.suspected = at_.suspected;
  } else if (rival_.session != at_.session) {
    if (rival_.session == forgotten_.session && rival_.first - forgotten_.base < kReorder) {
      next.base = forgotten_.base;
      next.suspected = forgotten_.suspected;
    } else if (rival_.first < kReorder) {
      next.base = 0;
    }
  }
  if (sequence - next.base >= kWindow) {
    next.suspected += sequence - next.base;
    next.base = sequence;
  }
  // While a change is on trial, the position before it stays the position to return to. But one
  // frame does not make the receiver forget several of a session on trial.
  const bool can_return = at_.believed || !has_previous_;
  const bool has_several = rival_.session != at_.session && kReorder - trial_ > 1;
  next.first = ahead && !can_return ? at_.first : next.base;
  if (can_return || has_several) {
    previous_ = at_;
    has_previous_ = true;
  } else if (rival_.session != at_.session) {
    forgotten_ = at_;
  }
  at_ = next;
  entered_ = at_.base;
}

uint64_t TrunkSequence::Believe() {
  trial_ = 0;
  stands_for_ = 0;
  at_.believed = true;
  forgotten_ = {};
  return std::exchange(at_.suspected, 0);
}

uint64_t TrunkSequence::GiveUpFirst() {
  const uint64_t first = at_.base;
  // All numbers taken are less than kWindow ahead, so the first bit found in the direction of
  // counting is the next number.
  for (uint64_t n = first;;) {
    const uint64_t word = taken_[n % kWindow / 64] >> (n % 64);
    if (word != 0) {
      at_.base = n + static_cast<uint64_t>(std::countr_zero(word));
      break;
    }
    n += 64 - n % 64;
  }
  const uint64_t lost = at_.base - first;
  SkipTaken();
  return lost;
}

void TrunkSequence::SkipTaken() {
  while (above_ > 0) {
    uint64_t& word = taken_[at_.base % kWindow / 64];
    const auto from = static_cast<int>(at_.base % 64);
    const int run = std::countr_one(word >> from);
    if (run == 0) return;
    const uint64_t ones = run == 64 ? ~uint64_t{0} : (uint64_t{1} << run) - 1;
    word &= ~(ones << from);
    at_.base += static_cast<uint64_t>(run);
    above_ -= static_cast<uint32_t>(run);
    if (from + run < 64) return;
  }
}

uint64_t TrunkSequence::GiveUpWhenQuiet() {
  uint64_t lost = 0;
  while (above_ >= kEvidence) lost += GiveUpFirst();
  if (trial_ > 0 && kReorder - trial_ >= kEvidence) lost += Believe();
  in_order_ = known_ && above_ == 0 && trial_ == 0 && rival_.frames == 0;
  return lost;
}

}  // namespace bfly::dataplane
