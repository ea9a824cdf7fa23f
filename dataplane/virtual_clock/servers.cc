// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/servers.h"

namespace bfly::dataplane {

void PriorityServer::BeginUntil(Ticks limit) {
  link_.Advance(
      Discipline::kPriority, AtTick(limit), waiting_, [this](uint32_t) { return AtTick(service_); },
      [this](uint32_t entry, LinkTime departure) {
        begun_.push(waiting_.at(entry).packet.Left(WholeTick(departure)));
        waiting_.Give(entry);
      });
}

void PriorityServer::Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
  for (const Job& job : arrivals) {
    BeginUntil(job.time);
    link_.Wait(Discipline::kPriority, AtTick(job.time), AtTick(service_), waiting_.Put(job),
               waiting_);
  }
  BeginUntil(window_end);
  for (; !begun_.empty() && begun_.front().time < window_end; begun_.pop()) {
    out.push_back(begun_.front());
  }
}

void SharingServer::DepartUntil(Ticks last, std::vector<Job>& out) {
  for (; !present_.empty(); present_.pop()) {
    const Present& first = present_.front();
    const LinkTime departure = link_.NextDeparture(first.end, present_.size());
    if (departure > At(last)) return;
    out.push_back(first.job.Left(static_cast<Ticks>((departure + (At(1) - 1)) >> fraction_bits_)));
    link_.Depart(first.end, departure);
  }
}

void SharingServer::Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
  for (const Job& job : arrivals) {
    DepartUntil(job.time, out);
    if (present_.size() == 1) present_.front().end = link_.EndOfOnly();
    present_.push({job, link_.Join(At(job.time), work_, present_.size())});
  }
  if (window_end > 0) DepartUntil(window_end - 1, out);
}

}  // namespace bfly::dataplane
