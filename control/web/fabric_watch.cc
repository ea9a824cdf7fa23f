// SPDX-License-Identifier: Apache-2.0
#include "control/web/fabric_watch.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <random>
#include <tuple>
#include <utility>

namespace bfly::control {
namespace {

// Below 2^52, so that JavaScript has the numbers that follow it exactly.
uint64_t RandomNumber() {
  std::random_device random;
  return uint64_t{random()} << 20 | random() >> 12;
}

v1::CounterFilter::Figure FilterFigure(LinkFigure figure) {
  switch (figure) {
    case LinkFigure::kPacketRate:
    case LinkFigure::kPackets:
      return v1::CounterFilter::PACKETS;
    case LinkFigure::kByteRate:
      return v1::CounterFilter::BYTES;
    case LinkFigure::kOccupancy:
      return v1::CounterFilter::OCCUPANCY;
    case LinkFigure::kCircuits:
      break;
    case LinkFigure::kDrops:
      return v1::CounterFilter::DROPS;
  }
  return v1::CounterFilter::FIGURE_UNSPECIFIED;
}

}  // namespace

bool IsSameFabric(v1::DescribeResponse a, v1::DescribeResponse b) {
  for (v1::DescribeResponse* description : {&a, &b}) {
    description->clear_faults();
    description->clear_links();
  }
  return google::protobuf::util::MessageDifferencer::Equals(a, b);
}

FabricMoment MomentOf(const v1::Counters& counters, const AccountRate& rate) {
  return {.time_ns = counters.time_ns(),
          .monotonic_ns = counters.monotonic_ns(),
          .injected = counters.conservation().injected(),
          .delivered = counters.conservation().delivered(),
          .dropped = counters.conservation().dropped(),
          .in_flight = counters.conservation().in_flight(),
          .circuits = counters.circuits().standing(),
          .broken = counters.circuits().broken(),
          .injected_rate = rate.injected,
          .delivered_rate = rate.delivered,
          .drop_rate = rate.dropped};
}

void AddMoment(const FabricMoment& moment, std::deque<FabricMoment>& moments) {
  moments.push_back(moment);
  const int64_t oldest = moment.monotonic_ns - kHistory / std::chrono::nanoseconds(1);
  while (moments.size() > kMostMoments || moments.front().monotonic_ns < oldest) {
    moments.pop_front();
  }
}

FabricWatch::FabricWatch(FabricCalls& calls, const Options& options)
    : calls_(calls),
      options_(options),
      fabrics_(RandomNumber()),
      asked_(Clock::now() - options.attention) {
  thread_ = std::thread([this] { Run(); });
}

FabricWatch::~FabricWatch() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  news_.notify_all();
  thread_.join();
}

void FabricWatch::Run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    hurry_ = false;
    const auto begin = Clock::now();
    const bool links = begin - asked_ < options_.attention;
    const Figures by = FiguresAsked(begin);
    lock.unlock();
    absl::Status status = Read(links, by);
    lock.lock();
    status_ = std::move(status);
    if (!status_.ok()) Miss(status_);
    ++readings_;
    news_.notify_all();
    // Rates over less than this would say little, and requests must not multiply the readings.
    constexpr std::chrono::milliseconds kLeast{200};
    wake_.wait_until(lock, begin + std::min(kLeast, options_.interval),
                     [this] { return stopping_; });
    wake_.wait_until(lock, begin + options_.interval, [this] { return stopping_ || hurry_; });
  }
}

FabricWatch::Figures FabricWatch::FiguresAsked(Clock::time_point now) {
  std::erase_if(asked_by_,
                [&](const auto& asked) { return now - asked.second >= options_.attention; });
  Figures figures;
  for (const auto& [figure, when] : asked_by_) figures.insert(figure);
  if (figures.empty()) figures.insert(v1::CounterFilter::FIGURE_UNSPECIFIED);
  return figures;
}

void FabricWatch::Miss(const absl::Status& why) {
  if (absl::IsFailedPrecondition(why)) {
    known_ = nullptr;
    sample_ = nullptr;
  }
  if (known_ == nullptr) return;
  auto old = std::make_shared<Known>(*known_);
  old->trouble = std::string(why.message());
  known_ = std::move(old);
}

absl::Status FabricWatch::ReadDescription() {
  absl::StatusOr<v1::DescribeResponse> description = calls_.Describe(/*links=*/false);
  if (!description.ok()) {
    // What is loaded after this is another fabric, also if it comes from the same file. Other
    // errors pass, and the fabric stays what it is.
    if (absl::IsFailedPrecondition(description.status())) description_.Clear();
    return description.status();
  }
  if (!IsSameFabric(*description, description_)) {
    ++fabrics_;
    wiring_ = nullptr;
    counts_.reset();
    moments_.clear();
  }
  description_ = *std::move(description);
  return absl::OkStatus();
}

absl::Status FabricWatch::ReadWiring() {
  absl::StatusOr<v1::DescribeResponse> description = calls_.Describe(ReadsEveryLink());
  if (!description.ok()) return description.status();
  if (!IsSameFabric(*description, description_))
    return absl::UnavailableError("another fabric was loaded meanwhile");
  absl::StatusOr<Wiring> wiring = WiringOf(*description, options_.most_links);
  if (!wiring.ok()) return wiring.status();
  wiring_ = std::make_shared<const Wiring>(*std::move(wiring));
  return absl::OkStatus();
}

absl::StatusOr<v1::Counters> FabricWatch::ReadLinkCounters(const Figures& by) {
  v1::GetCountersRequest request;
  request.mutable_filter()->set_nonzero(true);
  if (!wiring_->next_rows.empty()) return calls_.GetCounters(request);
  request.mutable_filter()->set_top(kFullest);
  std::optional<v1::Counters> all;
  std::set<std::tuple<uint32_t, uint32_t, uint32_t>> places;
  for (const v1::CounterFilter::Figure figure : by) {
    request.mutable_filter()->set_by(figure);
    absl::StatusOr<v1::Counters> read = calls_.GetCounters(request);
    if (!read.ok()) return read.status();
    google::protobuf::RepeatedPtrField<v1::LinkCounters> links;
    links.Swap(read->mutable_links());
    if (!all) all = *read;
    if (read->links_missing()) all->set_links_missing(true);
    for (v1::LinkCounters& link : links) {
      if (places.emplace(link.stage(), link.row(), link.port()).second)
        *all->add_links() = std::move(link);
    }
  }
  return *std::move(all);
}

absl::Status FabricWatch::Read(bool links, const Figures& by) {
  if (absl::Status status = ReadDescription(); !status.ok()) return status;
  if (links && wiring_ == nullptr) {
    if (absl::Status status = ReadWiring(); !status.ok()) return status;
  }
  v1::GetCountersRequest summary;
  summary.mutable_filter()->set_summary(true);
  absl::StatusOr<v1::Counters> counters =
      links ? ReadLinkCounters(by) : calls_.GetCounters(summary);
  if (!counters.ok()) return counters.status();
  const Counts* const before = counts_ ? &*counts_ : nullptr;
  std::shared_ptr<const FabricSample> sample;
  if (links) {
    const absl::StatusOr<v1::GetLinksResponse> down = calls_.GetLinks();
    if (!down.ok()) return down.status();
    FabricSample made = SampleOf(wiring_, *counters, *down, before);
    made.fabric = fabrics_;
    sample = std::make_shared<const FabricSample>(std::move(made));
  }
  const CounterRates rates(*counters, before);
  AddMoment(MomentOf(*counters, rates.account()), moments_);
  auto known = std::make_shared<Known>();
  known->fabric = fabrics_;
  known->description = description_;
  known->every_link = ReadsEveryLink();
  for (const v1::PortCounters& port : counters->ports()) known->ports.push_back(rates.Of(port));
  counts_ = CountsOf(*counters, sample != nullptr && sample->every_link());
  counters->clear_links();
  known->counters = *std::move(counters);
  known->moments = moments_;

  const std::lock_guard lock(mutex_);
  known_ = std::move(known);
  sample_ = std::move(sample);
  if (sample_ != nullptr) {
    sampled_ = Clock::now();
    sampled_by_ = by;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const FabricWatch::Known>> FabricWatch::known() {
  std::unique_lock lock(mutex_);
  news_.wait_for(lock, options_.patience, [this] { return stopping_ || readings_ > 0; });
  if (known_ == nullptr) return status_;
  return known_;
}

absl::StatusOr<std::shared_ptr<const FabricSample>> FabricWatch::Links(
    std::optional<LinkFigure> by) {
  std::unique_lock lock(mutex_);
  asked_ = Clock::now();
  if (by) asked_by_[FilterFigure(*by)] = asked_;
  const auto fresh = [&] {
    return sample_ != nullptr && Clock::now() - sampled_ < 3 * options_.interval &&
           (sample_->every_link() || !by || sampled_by_.contains(FilterFigure(*by)));
  };
  if (!fresh()) {
    hurry_ = true;
    wake_.notify_all();
    // A reading that is under way may be without links, so the one after it counts too.
    const uint64_t enough = readings_ + 2;
    news_.wait_for(lock, options_.patience,
                   [&] { return stopping_ || fresh() || readings_ >= enough; });
  }
  if (sample_ != nullptr) return sample_;
  if (!status_.ok()) return status_;
  return absl::UnavailableError("the links could not be read in time; try again");
}

void FabricWatch::Hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurry_ = true;
  }
  wake_.notify_all();
}

}  // namespace bfly::control
