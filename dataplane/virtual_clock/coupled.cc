// SPDX-License-Identifier: Apache-2.0
#include "dataplane/virtual_clock/coupled.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/virtual_clock/server_network.h"
#include "dataplane/virtual_clock/servers.h"
#include "dataplane/virtual_clock/source.h"
#include "topologies/random.h"

namespace bfly::dataplane {
namespace {

constexpr Ticks kServiceUnit = Ticks{1} << 32;
using Jobs = std::vector<Job>;
using Lists = std::vector<Jobs>;

template <typename Server>
Jobs ServeAll(const Jobs& arrivals) {
  Jobs left;
  Server(kServiceUnit).Serve(arrivals, kNever, left);
  return left;
}

// Whether every time of `a` is at most the time at the same place of `b`.
bool NeverLater(const Jobs& a, const Jobs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Job& x, const Job& y) { return x.time <= y.time; });
}

void Compare(const Jobs& a, const Jobs& b, PathCount& count) {
  for (size_t i = 0; i < a.size(); ++i) count.Add(a[i].time <= b[i].time);
}

class CoupledNetworks {
 public:
  CoupledNetworks(const Network& network, const CoupledConfig& config)
      : network_(network), config_(config), threshold_(config.flip * 0x1p32) {}

  CoupledResult Run() {
    CoupledResult result;
    Lists fifo = Births();
    for (const Jobs& jobs : fifo) result.packets += jobs.size();
    Lists sharing = fifo;
    for (int stage = 0; stage < network_.stages(); ++stage) RunStage(stage, fifo, sharing, result);
    CompareDepartures(fifo, sharing, result);
    return result;
  }

 private:
  Lists Births() {
    ArrivalConfig arrivals;
    arrivals.rate = config_.rate;
    arrivals.seed = config_.seed;
    VirtualSource source(network_, arrivals,
                         DestinationPattern::Flip(network_.dimension(), config_.flip), kServiceUnit,
                         1);
    const auto end = static_cast<Ticks>(std::llround(config_.duration * kServiceUnit));
    std::vector<VirtualPacket> born;
    Lists nodes(network_.rows());
    for (Row row = 0; row < network_.rows(); ++row) {
      const size_t count = source.FillRow(row, end, born, 0);
      for (size_t i = 0; i < count; ++i) {
        nodes[row].push_back({born[i].time, born[i].time, born[i].word});
      }
    }
    return nodes;
  }

  // Where the k-th packet to complete the link goes next: as many ports as it takes to the end of
  // the next link that takes time, where another decision waits.
  WireTag Decision(const LinkId& link, uint64_t k) const {
    const Row row = network_.next_row(link.stage, link.row, link.port);
    const uint64_t counter = network_.link_index(link) << 36 | k;
    WireTag tag = 0;
    for (int ahead = 0; link.stage + 1 + ahead < network_.stages(); ++ahead) {
      const PhiloxBlock block = RandomBlock(config_.seed, RandomStream::kArcDecisions, counter,
                                            static_cast<uint32_t>(ahead));
      const bool cross = block[0] < threshold_;
      const bool stays_by_one = network_.next_row(link.stage + 1 + ahead, row, 1) == row;
      if (cross != stays_by_one) tag |= kWireTagDone >> ahead;
      if (cross || !network_.straight_is_free()) break;
    }
    return tag;
  }

  void Decide(const LinkId& link, Jobs& left) const {
    for (size_t k = 0; k < left.size(); ++k) left[k].tag = Decision(link, k);
  }

  void RunStage(int stage, Lists& fifo, Lists& sharing, CoupledResult& result) const {
    const auto split = [&](const Lists& nodes) {
      Lists links(2 * nodes.size());
      for (size_t row = 0; row < nodes.size(); ++row) {
        for (const Job& job : nodes[row]) links[2 * row + (job.tag >> 63)].push_back(job);
      }
      return links;
    };
    Lists into_fifo = split(fifo), into_sharing = split(sharing);
    Lists from_fifo(into_fifo.size()), from_sharing(into_fifo.size());
    for (size_t link = 0; link < into_fifo.size(); ++link) {
      const LinkId id{stage, static_cast<Row>(link / 2), static_cast<int>(link % 2)};
      if (network_.straight_is_free() && network_.next_row(stage, id.row, id.port) == id.row) {
        for (const Job& job : into_fifo[link]) from_fifo[link].push_back(job.Left(job.time));
        for (const Job& job : into_sharing[link]) from_sharing[link].push_back(job.Left(job.time));
        continue;
      }
      from_fifo[link] = ServeAll<FifoServer>(into_fifo[link]);
      from_sharing[link] = ServeAll<SharingServer>(into_sharing[link]);
      const Jobs alone = ServeAll<FifoServer>(into_sharing[link]);
      Compare(alone, from_sharing[link], result.same_arrivals);
      if (NeverLater(into_fifo[link], into_sharing[link])) {
        Compare(from_fifo[link], alone, result.earlier_arrivals);
      }
      Compare(from_fifo[link], from_sharing[link], result.links);
      Decide(id, from_fifo[link]);
      Decide(id, from_sharing[link]);
    }
    for (Row head = 0; head < network_.rows(); ++head) {
      const std::vector<LinkId> from = network_.feeders(stage, head);
      const size_t a = 2 * from[0].row + from[0].port, b = 2 * from[1].row + from[1].port;
      MergeByTime(from_fifo[a], from_fifo[b], fifo[head]);
      MergeByTime(from_sharing[a], from_sharing[b], sharing[head]);
    }
  }

  static std::vector<Ticks> Times(const Lists& nodes) {
    std::vector<Ticks> times;
    for (const Jobs& jobs : nodes) {
      for (const Job& job : jobs) times.push_back(job.time);
    }
    std::sort(times.begin(), times.end());
    return times;
  }

  static void CompareDepartures(const Lists& fifo, const Lists& sharing, CoupledResult& result) {
    const std::vector<Ticks> a = Times(fifo), b = Times(sharing);
    for (size_t i = 0; i < a.size(); ++i) result.departures.Add(a[i] <= b[i]);
  }

  const Network& network_;
  const CoupledConfig config_;
  const double threshold_;  // compared with a random word of 32 bits
};

}  // namespace

absl::StatusOr<CoupledResult> RunCoupled(const Network& network, const CoupledConfig& config) {
  if ((network.kind() != NetworkKind::kButterfly && network.kind() != NetworkKind::kHypercube) ||
      network.extra_hops() > 0) {
    return absl::InvalidArgumentError(
        "coupled: the statements are about the butterfly and the hypercube");
  }
  if (!(config.flip >= 0 && config.flip <= 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("flip: ", config.flip, " is not a probability (0 to 1)"));
  }
  if (!(config.rate > 0 && config.rate <= 1e3)) {
    return absl::InvalidArgumentError(
        absl::StrCat("rate: ", config.rate, " is outside 0 (exclusive) to 1000 packets per unit"));
  }
  if (!(config.duration > 0 && config.duration * config.rate * network.rows() <= 1e8)) {
    return absl::InvalidArgumentError(
        absl::StrCat("duration: ", config.duration, " is outside 0 (exclusive) to ",
                     1e8 / config.rate / network.rows(), " units, 1e8 packets"));
  }
  return CoupledNetworks(network, config).Run();
}

}  // namespace bfly::dataplane
