// SPDX-License-Identifier: Apache-2.0
#include "control/rack/rack_file.h"

#include <bit>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "control/measure/settings.h"
#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"
#include "topologies/network.h"

namespace bfly::control {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr double kGiB = 1024.0 * kMiB;

// The model needs networks whose every hop sets one bit of the row and leaves the others.
absl::Status CheckKind(v1::NetworkKind kind) {
  if (kind == v1::BUTTERFLY || kind == v1::TWO_FOLD_BUTTERFLY || kind == v1::BENES) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "network: the model does not know ", absl::AsciiStrToLower(v1::NetworkKind_Name(kind)),
      " (allowed: butterfly, two_fold_butterfly, benes)"));
}

// By hop (RackDemand::positions).
absl::StatusOr<std::vector<int>> PositionsOf(v1::NetworkKind kind, uint32_t rows) {
  v1::Network spec;
  spec.set_kind(kind);
  spec.set_rows(rows);
  const absl::StatusOr<Network> network = NetworkOf(spec);
  if (!network.ok()) return network.status();
  std::vector<int> positions;
  for (int hop = 0; hop < network->hops(); ++hop) {
    positions.push_back(network->position_of_stage(network->stage_of_hop(hop)));
  }
  return positions;
}

absl::Status Check(const v1::RackFile& file) {
  if (absl::Status status = CheckAllRules(file); !status.ok()) return status;
  for (int i = 0; i < file.frames_size(); ++i) {
    if (const auto bytes = MeanFrameBytes(file.frames(i)); !bytes.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("frames[", i, "]: ", bytes.status().message()));
    }
  }
  if (file.delay_us() > 0 && !file.timed()) {
    return absl::InvalidArgumentError(
        absl::StrCat("delay_us: ", file.delay_us(),
                     " us need links that take time (allowed: with timed: true)"));
  }
  for (int i = 0; i < file.measured_size(); ++i) {
    const v1::RackMeasurement& measured = file.measured(i);
    if (measured.placement() == v1::RackMeasurement::STAGES && measured.stages() < 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "measured[", i, "].stages: ", measured.stages(),
          " cannot be shared by two cores (allowed with placement stages: 3 and more)"));
    }
  }
  if (file.costs().far_hop_ns() < file.costs().hop_ns()) {
    return absl::InvalidArgumentError(absl::StrCat("costs.far_hop_ns: ", file.costs().far_hop_ns(),
                                                   " is less than hop_ns, ", file.costs().hop_ns(),
                                                   " (allowed: at least as much)"));
  }
  return CheckKind(file.network());
}

absl::StatusOr<Rack> RackOf(const v1::RackFile& file, const RackDemand& demand) {
  const int servers = static_cast<int>(file.servers());
  if (servers == 0) return SmallestRack(demand, ServerOf(file), CostsOf(file), file.most_busy());
  const bool by_rows = demand.cut == RackCut::kRows;
  if (servers > MostServers(demand) || (by_rows && !std::has_single_bit(file.servers()))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "servers: ", servers, " cannot share ", demand.rows, " rows of ", demand.positions.size(),
        " stages (allowed: ", by_rows ? "powers of two up to the rows, " : "up to the stages, ",
        MostServers(demand), ", cut by ", by_rows ? "rows" : "stages", ")"));
  }
  return PlanRack(demand, ServerOf(file), CostsOf(file), servers, file.most_busy());
}

}  // namespace

absl::StatusOr<v1::RackFile> ReadRackFile(const std::string& path,
                                          const std::vector<std::string>& settings) {
  const absl::StatusOr<std::string> text = ReadTopologyText(path);
  if (!text.ok()) return text.status();
  v1::RackFile file;
  if (absl::Status status = ReadWithSettings(path, *text, "a rack file", "host_ports", settings,
                                             &file, [&] { return Check(file); });
      !status.ok()) {
    return status;
  }
  return file;
}

CoreCosts CostsOf(const v1::RackFile& file) {
  const v1::FrameCosts& costs = file.costs();
  return {.driver = costs.driver_ns(),
          .receive_part = costs.receive_part(),
          .edge = costs.edge_ns(),
          .hop = costs.hop_ns(),
          .far_hop = costs.far_hop_ns(),
          .timed_hop = costs.timed_hop_ns(),
          .hand_over = costs.hand_over_ns(),
          .trunk = costs.trunk_ns()};
}

ServerShape ServerOf(const v1::RackFile& file) {
  const v1::RackServer& server = file.server();
  return {.cores = static_cast<int>(server.cores()),
          .nic_gbps = server.nic_ports() * server.nic_gbps(),
          .memory_bytes = server.memory_gib() * kGiB,
          .l2_bytes = server.l2_mib() * kMiB};
}

absl::StatusOr<std::vector<RackCase>> PlanRacks(const v1::RackFile& file) {
  std::vector<RackCase> racks;
  const std::string network = absl::AsciiStrToLower(v1::NetworkKind_Name(file.network()));
  for (const int cut : file.cut()) {
    for (const std::string& frames : file.frames()) {
      for (const double gbps : file.gbps()) {
        for (const uint32_t rows : file.host_ports()) {
          const auto positions = PositionsOf(file.network(), rows);
          if (!positions.ok()) return positions.status();
          RackCase one{
              .network = network,
              .frames = frames,
              .cut = cut == v1::RackFile::ROWS ? "rows" : "stages",
              .demand = {.positions = *positions,
                         .rows = rows,
                         .gbps = gbps,
                         .frame_bytes = MeanFrameBytes(frames).value(),
                         .cut = cut == v1::RackFile::ROWS ? RackCut::kRows : RackCut::kStages,
                         .timed = file.timed(),
                         .delay_seconds = file.delay_us() * 1e-6,
                         .trunk_queues = file.trunk_queues()}};
          const absl::StatusOr<Rack> rack = RackOf(file, one.demand);
          if (!rack.ok()) return rack.status();
          one.rack = *rack;
          racks.push_back(std::move(one));
        }
      }
    }
  }
  return racks;
}

std::vector<RackCheck> CheckRack(const v1::RackFile& file) {
  std::vector<RackCheck> checks;
  for (const v1::RackMeasurement& measured : file.measured()) {
    const int stages = static_cast<int>(measured.stages());
    const uint32_t rows = 1u << stages;
    RackDemand demand{.rows = rows, .gbps = 10, .frame_bytes = 64, .timed = file.timed()};
    for (int i = 1; i <= stages; ++i) demand.positions.push_back(i);
    const bool by_rows = measured.placement() == v1::RackMeasurement::ROWS;
    std::vector<int> groups = {stages};
    if (measured.placement() == v1::RackMeasurement::STAGES) {
      groups = {stages / 3, stages - stages / 3};
    }
    const double ns =
        SlowestCore(demand, ServerOf(file).l2_bytes, CostsOf(file), groups, by_rows ? 2 : 1);
    checks.push_back({.measured = measured, .predicted = (by_rows ? 2 : 1) * 1e3 / ns});
  }
  return checks;
}

}  // namespace bfly::control
