// SPDX-License-Identifier: Apache-2.0
#include "control/cli/top_reader.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "control/cli/client.h"

namespace bfly::control {
namespace {

using SteadyClock = std::chrono::steady_clock;

// How long one answer may take. A controller that hangs is said to hang after that.
constexpr std::chrono::seconds kTopDeadline{5};
// Up to so many links every round has all of them, else the busiest ones alone.
constexpr uint64_t kMostLinksOfRound = 65'536;
constexpr uint32_t kBusiestLinks = 4096;
constexpr uint32_t kCircuitsOfRound = 1000;

}  // namespace

TopReader::TopReader(Part part, const Common& common)
    : part_(std::move(part)),
      calls_(common, kTopDeadline),
      fabric_(v1::Fabric::NewStub(Connect(common))),
      telemetry_(v1::Telemetry::NewStub(Connect(common))),
      circuits_(v1::Circuits::NewStub(Connect(common))),
      traffic_(v1::Traffic::NewStub(Connect(common))) {}

v1::GetCountersRequest TopReader::CountersRequest(const Part& part, Answers& answers) const {
  v1::GetCountersRequest request;
  v1::CounterFilter& filter = *request.mutable_filter();
  filter.set_nonzero(true);
  filter.mutable_stages()->Assign(part.stages.begin(), part.stages.end());
  filter.mutable_rows()->Assign(part.rows.begin(), part.rows.end());
  filter.mutable_ports()->Assign(part.ports.begin(), part.ports.end());
  const uint64_t stages = part.stages.empty() ? answers.fabric.stages() : part.stages.size();
  const uint64_t rows = part.rows.empty() ? answers.fabric.rows() : part.rows.size();
  answers.every_link = stages * rows * std::max(1u, answers.fabric.ports()) <= kMostLinksOfRound;
  if (!answers.every_link) {
    filter.set_top(kBusiestLinks);
    filter.set_by(v1::CounterFilter::PACKETS);
  }
  return request;
}

absl::StatusOr<Answers> TopReader::Ask() {
  Answers answers;
  v1::StatusResponse status;
  absl::Status asked =
      calls_.Call(fabric_.get(), &v1::Fabric::Stub::Status, v1::StatusRequest(), &status);
  if (!asked.ok()) return asked;
  answers.fabric_ns = SteadyClock::now().time_since_epoch().count();
  answers.fabric = std::move(*status.mutable_status());
  if (!answers.fabric.loaded()) return answers;
  // Another fabric than at the start may have less of the part.
  const absl::StatusOr<Part> part = PartOf(answers.fabric, part_);
  if (!part.ok()) return part.status();
  const v1::GetCountersRequest counters = CountersRequest(*part, answers);
  v1::ListRequest circuits;
  circuits.set_page_size(kCircuitsOfRound);
  asked =
      calls_.Call(telemetry_.get(), &v1::Telemetry::Stub::GetCounters, counters, &answers.counters);
  if (asked.ok()) {
    asked = calls_.Call(fabric_.get(), &v1::Fabric::Stub::GetLinks, v1::GetLinksRequest(),
                        &answers.links);
  }
  if (asked.ok())
    asked = calls_.Call(circuits_.get(), &v1::Circuits::Stub::List, circuits, &answers.circuits);
  if (absl::IsFailedPrecondition(asked)) return Answers();
  if (!asked.ok()) return asked;
  // Sources and latencies come from all data planes or not at all. The other figures are shown also
  // while a data plane is away.
  asked = calls_.Call(traffic_.get(), &v1::Traffic::Stub::List, v1::ListTrafficRequest(),
                      &answers.traffic);
  if (absl::IsCancelled(asked)) return asked;
  if (!asked.ok()) answers.traffic_problem = std::string(asked.message());
  return answers;
}

absl::StatusOr<Sample> TopReader::Next() {
  absl::StatusOr<Answers> now = Ask();
  if (!now.ok()) return now.status();
  Sample sample = MakeSample(*now, before_ ? &*before_ : nullptr, part_);
  before_ = *std::move(now);
  return sample;
}

TopThread::TopThread(TopReader& reader, std::chrono::milliseconds interval)
    : reader_(reader),
      interval_(interval),
      event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      thread_([this] { Run(); }) {}

TopThread::~TopThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  reader_.Stop();
  thread_.join();
  close(event_);
}

std::optional<absl::StatusOr<Sample>> TopThread::Take() {
  uint64_t ignored;
  if (read(event_, &ignored, sizeof(ignored)) < 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return std::exchange(newest_, std::nullopt);
}

void TopThread::Run() {
  SteadyClock::time_point due = SteadyClock::now();
  while (true) {
    absl::StatusOr<Sample> sample = reader_.Next();
    due = std::max(due + interval_, SteadyClock::now());
    std::unique_lock lock(mutex_);
    newest_ = std::move(sample);
    const uint64_t one = 1;
    // The write fails only if 2^64 - 1 wake-ups are pending already.
    (void)!write(event_, &one, sizeof(one));
    if (stop_.wait_until(lock, due, [this] { return stopping_; })) return;
  }
}

}  // namespace bfly::control
