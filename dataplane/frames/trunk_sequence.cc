// SPDX-License-Identifier: Apache-2.0
#include "dataplane/frames/trunk_sequence.h"

#include <bit>

namespace bfly::dataplane {

TrunkSequence::Step TrunkSequence::OutOfOrder(uint32_t session, uint64_t sequence, uint64_t now) {
  Step step;
  if (!known_) {
    // A receiver accepts the first frame that it sees.
    known_ = true;
    at_ = {.session = session, .base = sequence < kReorder ? 0 : sequence, .last = now};
  }
  if (session == at_.session && sequence - at_.base < kWindow) {
    TakeInWindow(sequence, now, step);
  } else if ((session == at_.session && at_.base - sequence <= kWindow) ||
             (has_previous_ && session == previous_.session &&
              previous_.base - sequence - 1 < kWindow)) {
    step.duplicates = 1;
  } else {
    ConsiderRival(session, sequence, now, step);
  }
  in_order_ = above_ == 0 && trial_ == 0 && rival_.frames == 0;
  return step;
}

void TrunkSequence::TakeInWindow(uint64_t sequence, uint64_t now, Step& step) {
  if (sequence != at_.base && bit(sequence)) {
    step.duplicates = 1;
    return;
  }
  step.take = true;
  at_.last = now;
  // The sender that the receiver follows is alive, so frames of another sender are not a restart.
  step.foreign += rival_.frames;
  rival_.frames = 0;
  if (trial_ > 0 && --trial_ == 0) {
    step.lost += suspected_;
    suspected_ = 0;
  }
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

  // No sender numbers more than a packet a tick, so a number further ahead is false.
  const auto reachable = [&](const Position& from) {
    return sequence - from.base <= kWindow + (now - from.last);
  };
  const bool ahead = session == at_.session && static_cast<int64_t>(sequence - at_.base) > 0;
  const bool returns =
      has_previous_ && session == previous_.session && !ahead && reachable(previous_);
  if (rival_.frames < Needed(returns, now)) return;
  if (ahead && !reachable(at_)) {
    step.foreign += rival_.frames;
    rival_.frames = 0;
    return;
  }
  while (above_ > 0) step.lost += GiveUpFirst();
  uint64_t start = rival_.first;
  if (returns) {
    start = previous_.base;
  } else if (ahead) {
    start = at_.base;
  } else if (session != at_.session && start < kReorder) {
    start = 0;
  }
  Follow(start, sequence, returns, now, step);
}

uint32_t TrunkSequence::Needed(bool returns, uint64_t now) const {
  if (returns) return 2;
  const bool quiet = now - at_.last >= quiet_;
  if (!quiet) return kEvidence;
  return rival_.session == at_.session ? 2 : 1;
}

void TrunkSequence::Follow(uint64_t start, uint64_t sequence, bool returns, uint64_t now,
                           Step& step) {
  // While a change is on trial, the position before it stays the position to return to.
  if (returns || trial_ == 0) {
    previous_ = at_;
    has_previous_ = true;
    suspected_ = 0;
  }
  trial_ = kReorder;
  at_ = {.session = rival_.session, .base = start, .last = now};
  rival_.frames = 0;
  if (sequence - start >= kWindow) {
    suspected_ += sequence - start;
    at_.base = sequence;
  }
  TakeInWindow(sequence, now, step);
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
  if (trial_ > 0 && kReorder - trial_ >= kEvidence) {
    lost += suspected_;
    suspected_ = 0;
    trial_ = 0;
  }
  in_order_ = known_ && above_ == 0 && trial_ == 0 && rival_.frames == 0;
  return lost;
}

}  // namespace bfly::dataplane
