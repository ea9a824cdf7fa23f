// SPDX-License-Identifier: Apache-2.0
#include "control/rack/rack.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace bfly::control {
namespace {

constexpr uint32_t kSmallestFrame = 64, kLargestFrame = 9022;

double GbpsOf(double frames_per_second, double bytes) {
  return frames_per_second * (bytes + kWireBytes) * 8 / 1e9;
}

double TrunkGbps(const RackDemand& demand, double frames_per_second) {
  return GbpsOf(frames_per_second, demand.frame_bytes + kTrunkBytes);
}

int Log2(int power) { return std::bit_width(static_cast<unsigned>(power)) - 1; }

// The part of one server in the work.
struct ServerPart {
  int first_hop = 0;
  int hops = 0;
  double rows = 0;
  int outer_bits = 0;  // leading bits of the address that say which server has the row
  // For each frame that is in these rows: whether it comes from hosts and goes to hosts (0 or 1),
  // and how often it comes and goes by a trunk. Where stages are cut, the other frames come by the
  // trunk before the first hop and go by the one behind the last hop.
  double from_hosts = 0, to_hosts = 0, from_trunk = 0, to_trunk = 0;
};

// How often a frame changes its block in hops begin..end-1, if it goes to a uniform row: at every
// second hop that sets one of the bits that tell the blocks apart.
double Exchanges(const RackDemand& demand, int begin, int end, int outer_bits, int bits) {
  const auto tells_apart = [&](int position) {
    return position > outer_bits && position <= outer_bits + bits;
  };
  return 0.5 * static_cast<double>(std::count_if(demand.positions.begin() + begin,
                                                 demand.positions.begin() + end, tells_apart));
}

double HopCost(const RackDemand& demand, const CoreCosts& costs, double l2_bytes, int hops,
               double rows) {
  if (demand.timed) return costs.timed_hop;
  const int runs = (hops + kFusedHops - 1) / kFusedHops;
  const double counters = rows * runs * kFusedRowBytes;
  if (counters <= l2_bytes) return costs.hop;
  return costs.hop + (costs.far_hop - costs.hop) * (1 - l2_bytes / counters);
}

// Nanoseconds of the core that sends a frame into a trunk, and of the core that takes it out.
double IntoTrunk(const CoreCosts& costs) { return costs.send() + costs.trunk / 2; }
double OutOfTrunk(const CoreCosts& costs) { return costs.receive() + costs.trunk / 2; }

// Behind the last hop of a group every frame goes to the group of the next hop: by a trunk if it
// changes the server, or else by one hand-over, straight into the block of its new row.
double SlowestCoreOf(const RackDemand& demand, const ServerPart& part, double l2_bytes,
                     const CoreCosts& costs, const std::vector<int>& hops_of_group,
                     int row_blocks) {
  const double into_trunk = demand.trunk_queues ? IntoTrunk(costs) : costs.hand_over / 2;
  const double out_of_trunk = demand.trunk_queues ? OutOfTrunk(costs) : costs.hand_over / 2;
  // Where stages are cut and one core works a trunk, it takes the frames of all blocks.
  const bool hands_all_to_trunk_core = part.to_hosts == 0 && !demand.trunk_queues;
  const auto crossings = [&](int from, int to) {
    return Exchanges(demand, from, to, 0, part.outer_bits);
  };
  double slowest = 0;
  int begin = part.first_hop;
  for (size_t group = 0; group < hops_of_group.size(); ++group) {
    const int hops = hops_of_group[group], end = begin + hops;
    const bool is_first = group == 0, is_last = group + 1 == hops_of_group.size();
    double ns = hops * HopCost(demand, costs, l2_bytes, hops, part.rows / row_blocks);
    const int exchanges_end = is_last && !hands_all_to_trunk_core ? end : end - 1;
    ns += costs.hand_over *
          Exchanges(demand, begin, exchanges_end, part.outer_bits, Log2(row_blocks));
    // The group of the next hop takes out what crosses behind a hop.
    ns += into_trunk * crossings(begin, end);
    ns += out_of_trunk * crossings(is_first ? begin : begin - 1, is_last ? end : end - 1);
    ns += is_first ? part.from_hosts * (costs.receive() + costs.edge) +
                         (1 - part.from_hosts) * out_of_trunk
                   : costs.hand_over / 2 * (1 - crossings(begin - 1, begin));
    ns += is_last ? part.to_hosts * costs.send() + (1 - part.to_hosts) * into_trunk
                  : costs.hand_over / 2 * (1 - crossings(end - 1, end));
    slowest = std::max(slowest, ns);
    begin = end;
  }
  return slowest;
}

std::vector<int> EvenGroups(int hops, int groups) {
  std::vector<int> sizes;
  for (int g = 0; g < groups; ++g) {
    sizes.push_back((g + 1) * hops / groups - g * hops / groups);
  }
  return sizes;
}

int TrunkCores(const RackDemand& demand, const ServerPart& part) {
  if (demand.trunk_queues) return 0;
  return (part.from_trunk > 0 ? 1 : 0) + (part.to_trunk > 0 ? 1 : 0);
}

struct Sharing {
  int groups = 1;
  int blocks = 1;
  double ns = 0;
  double need = 0;  // part of a core
  int cores() const { return groups * blocks; }
};

Sharing ShareAmongCores(const RackDemand& demand, const ServerPart& part, const ServerShape& server,
                        const CoreCosts& costs, double most_busy) {
  Sharing best;
  bool found = false;
  const double frames = part.rows * LineRate(demand);
  const int cores = std::max(1, server.cores - TrunkCores(demand, part));
  for (int groups = 1; groups <= std::min(part.hops, cores); ++groups) {
    for (int blocks = 1; groups * blocks <= cores && blocks <= part.rows; blocks *= 2) {
      Sharing one{.groups = groups, .blocks = blocks};
      one.ns = SlowestCoreOf(demand, part, server.l2_bytes, costs, EvenGroups(part.hops, groups),
                             blocks);
      one.need = frames / blocks * one.ns * 1e-9;
      const bool fits = one.need <= most_busy, best_fits = best.need <= most_busy;
      const bool better = fits != best_fits ? fits
                          : fits            ? one.cores() < best.cores()
                                            : one.need < best.need;
      if (!found || better) best = one;
      found = true;
    }
  }
  return best;
}

double MemoryOf(const RackDemand& demand, const ServerPart& part, int cores) {
  const double links = part.rows * part.hops * 2;
  double bytes = links * kLinkBytes + cores * kBuffersOfCore * kBufferBytes;
  bytes += part.rows * std::ceil(static_cast<double>(part.hops) / kFusedHops) * kFusedRowBytes;
  if (demand.timed) {
    const double link_seconds =
        demand.delay_seconds + (demand.frame_bytes + kWireBytes) * 8 / (demand.gbps * 1e9);
    const double on_links = part.rows * LineRate(demand) * part.hops * link_seconds;
    bytes += on_links * (kWaitingBytes + kBufferBytes);
  }
  return bytes;
}

std::vector<ServerPart> PartsOf(const RackDemand& demand, int servers) {
  const int hops = static_cast<int>(demand.positions.size());
  std::vector<ServerPart> parts;
  if (demand.cut == RackCut::kRows) {
    const int bits = Log2(servers);
    const double crossings = Exchanges(demand, 0, hops, 0, bits);
    // All servers are alike.
    parts.push_back({.hops = hops,
                     .rows = static_cast<double>(demand.rows) / servers,
                     .outer_bits = bits,
                     .from_hosts = 1,
                     .to_hosts = 1,
                     .from_trunk = crossings,
                     .to_trunk = crossings});
    return parts;
  }
  int first_hop = 0;
  for (const int mine : EvenGroups(hops, servers)) {
    const bool is_first = first_hop == 0, is_last = first_hop + mine == hops;
    parts.push_back({.first_hop = first_hop,
                     .hops = mine,
                     .rows = static_cast<double>(demand.rows),
                     .from_hosts = is_first ? 1.0 : 0,
                     .to_hosts = is_last ? 1.0 : 0,
                     .from_trunk = is_first ? 0 : 1.0,
                     .to_trunk = is_last ? 0 : 1.0});
    first_hop += mine;
  }
  return parts;
}

}  // namespace

double LineRate(const RackDemand& demand) {
  return demand.gbps * 1e9 / 8 / (demand.frame_bytes + kWireBytes);
}

absl::StatusOr<double> MeanFrameBytes(absl::string_view name) {
  if (name == "imix") return (7 * 64.0 + 4 * 594.0 + 1518.0) / 12;
  uint32_t bytes = 0;
  if (!absl::SimpleAtoi(name, &bytes) || bytes < kSmallestFrame || bytes > kLargestFrame) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is not a frame size (allowed: ", kSmallestFrame, " to ",
                     kLargestFrame, " bytes with FCS, or imix)"));
  }
  return bytes;
}

const ResourceNeed& Rack::first() const {
  return *std::max_element(needs.begin(), needs.end(),
                           [](auto& a, auto& b) { return a.part < b.part; });
}

int MostServers(const RackDemand& demand) {
  return demand.cut == RackCut::kRows ? static_cast<int>(demand.rows)
                                      : static_cast<int>(demand.positions.size());
}

Rack PlanRack(const RackDemand& demand, const ServerShape& server, const CoreCosts& costs,
              int servers, double most_busy) {
  Rack rack{.servers = servers,
            .needs = {{"cores"}, {"trunk core"}, {"NIC in"}, {"NIC out"}, {"memory"}}};
  for (const ServerPart& part : PartsOf(demand, servers)) {
    const double frames = part.rows * LineRate(demand);
    const Sharing sharing = ShareAmongCores(demand, part, server, costs, most_busy);
    const int trunk_cores = TrunkCores(demand, part);
    const int cores = sharing.cores() + trunk_cores;
    // A core that works trunks is none of those among which frames are shared.
    const double core_need = cores > server.cores
                                 ? std::max(sharing.need, static_cast<double>(cores) / server.cores)
                                 : sharing.need;
    if (rack.cores() == 0 || core_need > rack.needs[0].part) {
      rack.stage_groups = sharing.groups;
      rack.row_blocks = sharing.blocks;
      rack.trunk_cores = trunk_cores;
      rack.frame_ns = sharing.ns;
    }
    const double host_gbps = part.rows * demand.gbps;
    const double in = part.from_hosts * host_gbps + TrunkGbps(demand, frames * part.from_trunk);
    const double sent = TrunkGbps(demand, frames * part.to_trunk);
    const double memory = MemoryOf(demand, part, cores);
    const double trunk_ns = std::max(part.from_trunk * (OutOfTrunk(costs) + costs.hand_over / 2),
                                     part.to_trunk * (IntoTrunk(costs) + costs.hand_over / 2));
    const double trunk_need = demand.trunk_queues ? 0 : frames * trunk_ns * 1e-9;
    const double needs[] = {core_need, trunk_need, in / server.nic_gbps,
                            (part.to_hosts * host_gbps + sent) / server.nic_gbps,
                            memory / server.memory_bytes};
    for (size_t i = 0; i < rack.needs.size(); ++i) {
      rack.needs[i].part = std::max(rack.needs[i].part, needs[i]);
    }
    rack.hops_of_server = std::max(rack.hops_of_server, part.hops);
    rack.trunk_gbps = std::max(rack.trunk_gbps, sent);
    rack.memory_bytes = std::max(rack.memory_bytes, memory);
  }
  return rack;
}

Rack SmallestRack(const RackDemand& demand, const ServerShape& server, const CoreCosts& costs,
                  double most_busy) {
  Rack best;
  const bool by_rows = demand.cut == RackCut::kRows;
  for (int servers = 1; servers <= MostServers(demand); servers += by_rows ? servers : 1) {
    Rack rack = PlanRack(demand, server, costs, servers, most_busy);
    if (rack.first().part <= most_busy) return rack;
    if (best.servers == 0 || rack.first().part < best.first().part) best = std::move(rack);
  }
  return best;
}

double SlowestCore(const RackDemand& demand, double l2_bytes, const CoreCosts& costs,
                   const std::vector<int>& hops_of_group, int row_blocks) {
  const ServerPart part{.hops = static_cast<int>(demand.positions.size()),
                        .rows = static_cast<double>(demand.rows),
                        .from_hosts = 1,
                        .to_hosts = 1};
  return SlowestCoreOf(demand, part, l2_bytes, costs, hops_of_group, row_blocks);
}

}  // namespace bfly::control
