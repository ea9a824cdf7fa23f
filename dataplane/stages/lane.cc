// SPDX-License-Identifier: Apache-2.0
#include "dataplane/stages/lane.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/core/tsc_hz.h"

namespace bfly::dataplane {
namespace {

constexpr int kGivenUp = static_cast<int>(DropReason::kPortFull);

}  // namespace

Lane::Lane(Kind kind, Ring* ring, Outlet* outlet, Stage* last)
    : kind_(kind),
      ring_(ring),
      outlet_(outlet),
      last_(last),
      waiting_(std::make_unique<Descriptor[]>(kBatch)) {
  if (last_ == nullptr) return;
  last_->SetMayRefuse();
  links_ = std::make_unique<uint32_t[]>(kBatch);
  counted_ = std::make_unique<uint32_t[]>(kBatch);
}

Lane Lane::ToRing(Ring* ring, Stage* last) { return Lane(Kind::kRing, ring, nullptr, last); }

Lane Lane::ToLater(Stage* last) { return Lane(Kind::kLater, nullptr, nullptr, last); }

Lane Lane::ToTrunk(Outlet* outlet, Stage* last) {
  return Lane(Kind::kTrunk, nullptr, outlet, last);
}

Lane Lane::ToEgress(Outlet* outlet) { return Lane(Kind::kEgress, nullptr, outlet, nullptr); }

void Lane::Settle(Account& account) {
  if (kind_ == Kind::kRing) {
    promised_ = std::min(count_, ring_->room());
    account.ledger.handed_on += promised_;
  } else if (kind_ == Kind::kLater) {
    RemoveFront(std::exchange(taken_, 0));
  } else {
    SendToOutlet(account);
  }
  if (last_ == nullptr) return;
  if (last_->timed() != nullptr) {
    ForgetOccupancy();  // the stage counts what is on its links itself
  } else if (occupied_ || count_ > promised_) {
    CountOccupancy(account.ledger);
  }
}

void Lane::HandOver() {
  if (kind_ == Kind::kEgress) return outlet_->HandOver();
  if (promised_ == 0) return;
  ring_->Push(waiting_.get(), promised_);
  RemoveFront(promised_);
  promised_ = 0;
}

uint32_t Lane::Take(Descriptor* burst, uint32_t room) {
  const uint32_t n = std::min(count_ - taken_, room);
  std::copy_n(&waiting_[taken_], n, burst);
  taken_ += n;
  return n;
}

uint32_t Lane::OfferToOutlet(Ledger& ledger) {
  uint32_t taken = 0;
  while (taken < count_) {
    const int offered = static_cast<int>(std::min<uint32_t>(count_ - taken, kBurst));
    const int n = outlet_->Send(&waiting_[taken], offered, ledger);
    taken += static_cast<uint32_t>(n);
    if (n < offered) break;
  }
  return taken;
}

void Lane::SendToOutlet(Account& account) {
  const uint64_t handed_on = account.ledger.handed_on;
  const uint64_t given_up = account.ledger.dropped[kGivenUp];
  const uint32_t taken = OfferToOutlet(account.ledger);
  outlet_->Flush(account.ledger);
  if (kind_ != Kind::kTrunk) {
    RemoveFront(taken);
    return;
  }
  RemoveFront(taken);
  const uint64_t sent = account.ledger.handed_on - handed_on;
  account.trunk_out += sent;
  // An outlet buffers packets, so only packets that it has sent or given up show that it goes on.
  const bool goes_on = sent > 0 || account.ledger.dropped[kGivenUp] > given_up;
  if (goes_on || (count_ == 0 && outlet_->held() == 0)) {
    stuck_since_ = 0;
    dead_ = dead_ && !goes_on;
  } else if (stuck_since_ == 0) {
    stuck_since_ = stuck_until_ = rte_rdtsc();
  } else {
    // The lane judges by the end of the pass before this one. An outlet that has been stuck since
    // the same pass judges by the time in this pass, which is later, so it gives up its packets
    // before the lane does.
    dead_ = dead_ || static_cast<double>(stuck_until_ - stuck_since_) >
                         kOutletPatienceSeconds * static_cast<double>(TscHz());
    stuck_until_ = rte_rdtsc();
  }
  if (dead_) account.ledger.Drop(DropReason::kPortFull, Discard());
}

void Lane::Append(const Descriptor* batch, const uint32_t* links, int count) {
  std::copy_n(batch, count, &waiting_[count_]);
  if (links_ && links != nullptr) {
    std::copy_n(links, count, &links_[count_]);
  } else if (links_) {
    std::fill_n(&links_[count_], count, kNoLink);
  }
  count_ += static_cast<uint32_t>(count);
}

void Lane::RemoveFront(uint32_t taken) {
  const uint32_t rest = count_ - taken;
  if (taken > 0 && rest > 0) {
    std::memmove(waiting_.get(), &waiting_[taken], rest * sizeof(Descriptor));
    if (links_) std::memmove(links_.get(), &links_[taken], rest * sizeof(uint32_t));
  }
  count_ = rest;
}

void Lane::ForgetOccupancy() {
  for (uint32_t i = 0; i < counted_packets_; ++i) {
    std::atomic<uint32_t>& occupancy = last_->cold(counted_[i]).occupancy;
    const uint32_t now = occupancy.load(std::memory_order_relaxed);
    // A stage with links of their own time has set it to what it counts.
    if (now > 0) occupancy.store(now - 1, std::memory_order_relaxed);
  }
  counted_packets_ = 0;
  occupied_ = false;
}

// Runs only when a packet waits or has just ceased to wait.
void Lane::CountOccupancy(Ledger& ledger) {
  ForgetOccupancy();
  uint32_t kept = promised_;
  for (uint32_t i = promised_; i < count_; ++i) {
    if (links_[i] == kNoLink) {
      waiting_[kept] = waiting_[i];
      links_[kept++] = kNoLink;
      continue;
    }
    LinkCold& link = last_->cold(links_[i]);
    const uint32_t occupancy = link.occupancy.load(std::memory_order_relaxed);
    const uint32_t limit = last_->queue_limit(links_[i]);
    if (limit != 0 && occupancy >= limit) {
      last_->Refuse(links_[i], waiting_[i], ledger);
      continue;
    }
    counted_[counted_packets_++] = links_[i];
    link.occupancy.store(occupancy + 1, std::memory_order_relaxed);
    if (occupancy + 1 > link.peak.load(std::memory_order_relaxed)) {
      link.peak.store(occupancy + 1, std::memory_order_relaxed);
    }
    waiting_[kept] = waiting_[i];
    links_[kept] = links_[i];
    ++kept;
  }
  count_ = kept;
  occupied_ = counted_packets_ > 0;
}

uint64_t Lane::Discard() {
  for (uint32_t i = 0; i < count_; ++i) rte_pktmbuf_free(waiting_[i].mbuf);
  return std::exchange(count_, 0) + (outlet_ != nullptr ? outlet_->Discard() : 0);
}

}  // namespace bfly::dataplane
