// SPDX-License-Identifier: Apache-2.0
// Reads the fabric's figures once a second, for all who look at the page. Links are read only while
// somebody looks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/rates/counter_rates.h"
#include "control/web/fabric_calls.h"
#include "control/web/link_sample.h"

namespace bfly::control {

// The account of a fabric at one moment, and its rates since the moment before.
struct FabricMoment {
  int64_t time_ns = 0;       // since the epoch
  int64_t monotonic_ns = 0;  // by a clock that nobody sets
  uint64_t injected = 0;
  uint64_t delivered = 0;
  uint64_t dropped = 0;
  uint64_t in_flight = 0;
  uint64_t circuits = 0;
  uint64_t broken = 0;
  double injected_rate = 0;
  double delivered_rate = 0;
  double drop_rate = 0;
};

// The moment that `counters` tell, with the rates since the moment before.
FabricMoment MomentOf(const v1::Counters& counters, const AccountRate& rate);

// Adds the newest moment. Removes those older than kHistory, and the oldest if there are more than
// kMostMoments.
inline constexpr std::chrono::seconds kHistory{600};
inline constexpr size_t kMostMoments = 600;
void AddMoment(const FabricMoment& moment, std::deque<FabricMoment>& moments);

// Whether both describe one fabric. Faults come and go in a fabric, and not every description has
// the links.
bool IsSameFabric(v1::DescribeResponse a, v1::DescribeResponse b);

class FabricWatch {
 public:
  struct Options {
    std::chrono::milliseconds interval{1000};
    // Links are read until nobody has asked for them for this long.
    std::chrono::milliseconds attention{10'000};
    // How long a request waits for a first sample.
    std::chrono::milliseconds patience{5'000};
    // If the network has more links, only the fullest are read.
    uint64_t most_links = Wiring::kMostLinks;
  };
  // The links that are read by each figure, where not every link is read.
  static constexpr uint32_t kFullest = 4096;

  FabricWatch(FabricCalls& calls, const Options& options);
  ~FabricWatch();

  // What is known of the loaded fabric, beside its links. FAILED_PRECONDITION: no fabric is loaded.
  struct Known {
    // Numbers the fabrics that were seen, below 2^53. It begins at random, so the fabric of another
    // controller has another number.
    uint64_t fabric = 0;
    v1::DescribeResponse description;
    v1::Counters counters;        // without links
    std::vector<PortRate> ports;  // in the order of counters.ports
    std::deque<FabricMoment> moments;
    bool every_link = false;  // the network has at most Options::most_links
    std::string trouble;      // why the readings since then failed; empty: there was none
  };
  absl::StatusOr<std::shared_ptr<const Known>> known();

  // A sample that is younger than a few intervals, or the last one while readings fail. Of a
  // network with more than Options::most_links, it has the kFullest links by each figure that was
  // asked for within Options::attention, `by` among them; by circuits, then packets, if none was.
  // Rates are not known before links are chosen: for them, the links with the most packets or bytes
  // count.
  absl::StatusOr<std::shared_ptr<const FabricSample>> Links(
      std::optional<LinkFigure> by = std::nullopt);

  // A change was made: the next reading comes at once.
  void Hurry();

 private:
  using Clock = std::chrono::steady_clock;
  using Figures = std::set<v1::CounterFilter::Figure>;

  void Run();
  bool ReadsEveryLink() const { return description_.link_count() <= options_.most_links; }
  // The figures that somebody asked for within Options::attention. Forgets the others; needs
  // mutex_.
  Figures FiguresAsked(Clock::time_point now);
  // One reading. `by` is what a large network's links are chosen by, at least one figure. Only the
  // thread calls it.
  absl::Status Read(bool links, const Figures& by);
  // The counters, with the links that somebody may want to see.
  absl::StatusOr<v1::Counters> ReadLinkCounters(const Figures& by);
  absl::Status ReadDescription();
  absl::Status ReadWiring();
  // A reading failed. What is known stays, unless no fabric is loaded any more; needs mutex_.
  void Miss(const absl::Status& why);

  FabricCalls& calls_;
  const Options options_;

  // Only the thread uses these.
  uint64_t fabrics_;  // Known::fabric
  v1::DescribeResponse description_;
  std::shared_ptr<const Wiring> wiring_;
  std::optional<Counts> counts_;  // of the last reading of this fabric
  std::deque<FabricMoment> moments_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable news_;
  bool stopping_ = false;
  bool hurry_ = false;
  uint64_t readings_ = 0;
  Clock::time_point asked_;  // when somebody last asked for links
  std::map<v1::CounterFilter::Figure, Clock::time_point> asked_by_;
  Clock::time_point sampled_;
  Figures sampled_by_;
  absl::Status status_ = absl::UnavailableError("the fabric was not read yet");
  std::shared_ptr<const Known> known_;
  std::shared_ptr<const FabricSample> sample_;
  std::thread thread_;
};

}  // namespace bfly::control
