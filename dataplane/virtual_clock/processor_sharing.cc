// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/processor_sharing.h"

#include <algorithm>

namespace bfly::dataplane {

void SharingServer::Join(const Job& job) {
  const Fine now = Fine{job.time} << kFineBits;
  if (queue_.empty()) {
    attained_ = 0;
    all_done_ = job.time + work_;
  } else {
    if (queue_.size() == 1) {
      queue_.front().target = attained_ + (Fine{all_done_} << kFineBits) - last_;
    }
    attained_ += (now - last_) / queue_.size();
    all_done_ += work_;
  }
  last_ = now;
  queue_.push({job, attained_ + (Fine{work_} << kFineBits)});
}

void SharingServer::DepartUntil(Ticks limit, std::vector<Job>& out) {
  while (!queue_.empty()) {
    const Sharer& oldest = queue_.front();
    const Fine end = Fine{all_done_} << kFineBits;
    const Fine departure = queue_.size() == 1
                               ? end
                               : std::min(last_ + (oldest.target - attained_) * queue_.size(), end);
    if (departure > Fine{limit} << kFineBits) return;
    constexpr Fine kAlmostATick = (Fine{1} << kFineBits) - 1;
    out.push_back(oldest.job.Left(static_cast<Ticks>((departure + kAlmostATick) >> kFineBits)));
    attained_ = oldest.target;
    last_ = departure;
    queue_.pop();
  }
}

void SharingServer::Serve(std::span<const Job> arrivals, Ticks window_end, std::vector<Job>& out) {
  for (const Job& job : arrivals) {
    DepartUntil(job.time, out);
    Join(job);
  }
  if (window_end > 0) DepartUntil(window_end - 1, out);
}

}  // namespace bfly::dataplane
