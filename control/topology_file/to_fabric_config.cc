// SPDX-License-Identifier: Apache-2.0
#include "control/topology_file/to_fabric_config.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/status/field_errors.h"
#include "control/topology_file/diagnostic.h"
#include "control/topology_file/link_policy.h"
#include "control/topology_file/ranges.h"

namespace bfly::control {
namespace {

constexpr uint32_t kFirstMulticast = 0xe0000000;  // 224.0.0.0

// Parses a decimal number of at most `largest`, without sign or leading zeros.
bool ParseSmall(absl::string_view text, uint32_t largest, uint32_t* number) {
  const bool digits = !text.empty() && text.size() <= 3 && (text == "0" || text[0] != '0') &&
                      std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
  return digits && absl::SimpleAtoi(text, number) && *number <= largest;
}

std::string ToDotted(uint32_t address) {
  return absl::StrCat(address >> 24, ".", (address >> 16) & 255, ".", (address >> 8) & 255, ".",
                      address & 255);
}

absl::StatusOr<std::vector<dataplane::StagePlacement>> PlacementOn(const v1::Topology& topology,
                                                                   const std::string& data_plane) {
  std::vector<dataplane::StagePlacement> placements;
  for (const v1::StagePlacement& entry : topology.placement()) {
    if (entry.data_plane() != data_plane) continue;
    const absl::StatusOr<std::vector<Range>> ranges = ParseRanges(entry.stages());
    if (!ranges.ok()) return ranges.status();
    std::vector<dataplane::RowRange> blocks;
    if (entry.rows().empty()) {
      blocks.push_back({});
    } else {
      const absl::StatusOr<std::vector<Range>> rows = ParseRanges(entry.rows());
      if (!rows.ok()) return rows.status();
      for (const Range& range : *rows) blocks.push_back({range.first, range.last});
    }
    for (const Range& range : *ranges) {
      for (const dataplane::RowRange& block : blocks) {
        placements.push_back({.first_stage = static_cast<int>(range.first),
                              .last_stage = static_cast<int>(range.last),
                              .lcore = static_cast<int>(entry.lcore()),
                              .rows = block});
      }
    }
  }
  std::sort(placements.begin(), placements.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first_stage, a.rows.first) < std::pair(b.first_stage, b.rows.first);
  });
  return placements;
}

absl::StatusOr<dataplane::HostPortConfig> ToPort(const v1::HostPort& port, uint32_t rows) {
  const absl::StatusOr<std::vector<uint32_t>> attached = ExpandRanges(port.rows(), rows - 1, "row");
  if (!attached.ok()) return attached.status();
  return dataplane::HostPortConfig{
      .name = port.name(),
      .device = port.device(),
      .rows = *attached,
      .queue_pairs = static_cast<int>(port.queue_pairs()),
      .lcores = std::vector<int>(port.lcores().begin(), port.lcores().end()),
      .translate_mac = port.translate_mac(),
  };
}

dataplane::TrunkConfig ToTrunkEnd(const v1::Trunk& trunk, bool sends) {
  return {.name = trunk.name(),
          .device = sends ? trunk.from_device() : trunk.to_device(),
          .after_stage = static_cast<int>(trunk.after_stage()),
          .sends = sends,
          .queue_pairs = static_cast<int>(trunk.queue_pairs())};
}

}  // namespace

absl::StatusOr<NetworkSpec> ToNetworkSpec(const v1::Network& network) {
  // The schema's enum and topologies/ use the same names, so a new kind needs no change here.
  const std::string& name = v1::NetworkKind_Name(network.kind());
  const absl::StatusOr<NetworkKind> kind =
      KindFromName(name.empty() ? absl::StrCat(network.kind()) : absl::AsciiStrToLower(name));
  if (!kind.ok()) return kind.status();
  std::optional<PortRule> rule;
  if (network.rule() != v1::Network::RULE_UNSPECIFIED) {
    const std::string& rule_name = v1::Network::Rule_Name(network.rule());
    const absl::StatusOr<PortRule> known = RuleFromName(
        rule_name.empty() ? absl::StrCat(network.rule()) : absl::AsciiStrToLower(rule_name));
    if (!known.ok()) return known.status();
    rule = *known;
  }
  std::optional<ParallelEdges> edges;
  if (network.parallel_edges() != v1::Network::PARALLEL_EDGES_UNSPECIFIED) {
    const std::string& edges_name = v1::Network::ParallelEdges_Name(network.parallel_edges());
    const absl::StatusOr<ParallelEdges> known =
        ParallelEdgesFromName(edges_name.empty() ? absl::StrCat(network.parallel_edges())
                                                 : absl::AsciiStrToLower(edges_name));
    if (!known.ok()) return known.status();
    edges = *known;
  }
  return NetworkSpec{
      .kind = *kind,
      .rows = network.rows(),
      .seed = network.seed(),
      .passes = network.passes() == 0 ? 1 : static_cast<int>(network.passes()),
      .multiplicity = network.multiplicity() == 0 ? 1 : static_cast<int>(network.multiplicity()),
      .rule = rule,
      .extra_stages = static_cast<int>(std::min<uint32_t>(network.extra_stages(), INT32_MAX)),
      .parallel_edges = edges};
}

absl::StatusOr<Network> NetworkOf(const v1::Network& network) {
  const absl::StatusOr<NetworkSpec> spec = ToNetworkSpec(network);
  if (!spec.ok()) return spec.status();
  return Network::Make(*spec);
}

LinkCapacity CapacityOf(const v1::Topology& topology, const Network& network) {
  LinkCapacity capacity{.every_link = topology.circuits().capacity(), .of_link = {}};
  for (const v1::LinkCapacity& entry : topology.circuits().link_capacities()) {
    const LinkId link = {static_cast<int>(entry.stage()), entry.row(),
                         static_cast<int>(entry.port())};
    capacity.of_link[network.link_index(link)] = entry.capacity();
  }
  return capacity;
}

absl::StatusOr<Ipv4Block> ParseIpv4Block(absl::string_view text) {
  const auto wrong = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", Quotable(text), "\" ", why, " (allowed: ADDRESS/LENGTH, such as 10.77.0.16/28)"));
  };
  const std::vector<absl::string_view> parts = absl::StrSplit(text, '/');
  const std::vector<absl::string_view> bytes = absl::StrSplit(parts[0], '.');
  uint32_t length = 0;
  uint32_t base = 0;
  if (parts.size() != 2 || bytes.size() != 4 || !ParseSmall(parts[1], 32, &length)) {
    return wrong("is not a block of IPv4 addresses");
  }
  for (const absl::string_view byte : bytes) {
    uint32_t value = 0;
    if (!ParseSmall(byte, 255, &value)) return wrong("is not a block of IPv4 addresses");
    base = base << 8 | value;
  }
  const uint32_t host_bits = length == 32 ? 0 : UINT32_MAX >> length;
  if ((base & host_bits) != 0) {
    return wrong(absl::StrCat("has bits set after its first ", length, "; the block begins at ",
                              ToDotted(base & ~host_bits)));
  }
  if ((base | host_bits) >= kFirstMulticast)
    return wrong("reaches into multicast, from 224.0.0.0 on");
  return Ipv4Block{.base = base, .prefix_len = static_cast<int>(length)};
}

absl::StatusOr<dataplane::FabricConfig> ToFabricConfig(const v1::Topology& topology,
                                                       const std::string& data_plane) {
  const auto plane =
      std::find_if(topology.data_planes().begin(), topology.data_planes().end(),
                   [&](const v1::DataPlane& candidate) { return candidate.name() == data_plane; });
  if (plane == topology.data_planes().end()) {
    return absl::NotFoundError(absl::StrCat("data_plane: \"", Quotable(data_plane),
                                            "\" is not a data plane of topology ",
                                            topology.name()));
  }
  const absl::StatusOr<Network> network = NetworkOf(topology.network());
  if (!network.ok()) return network.status();

  dataplane::FabricConfig config;
  config.name = topology.name();
  config.network = network->spec();
  config.circuit_capacity = CapacityOf(topology, *network);
  if (topology.addressing().mode() == v1::Addressing::IPV4_PREFIX) {
    const absl::StatusOr<Ipv4Block> block = ParseIpv4Block(topology.addressing().ipv4_prefix());
    if (!block.ok()) return block.status();
    config.addressing = {.mode = dataplane::AddressingMode::kIpv4Prefix,
                         .ipv4_base = block->base,
                         .ipv4_prefix_len = block->prefix_len};
  }
  absl::StatusOr<std::vector<dataplane::StagePlacement>> placement =
      PlacementOn(topology, data_plane);
  if (!placement.ok()) return placement.status();
  config.placement = *std::move(placement);
  for (const v1::HostPort& entry : topology.ports()) {
    absl::StatusOr<dataplane::HostPortConfig> port = ToPort(entry, network->rows());
    if (!port.ok()) return port.status();
    if (entry.data_plane() == data_plane) {
      config.ports.push_back(*std::move(port));
    } else {
      config.rows_elsewhere.insert(config.rows_elsewhere.end(), port->rows.begin(),
                                   port->rows.end());
    }
  }
  for (const v1::Trunk& trunk : topology.trunks()) {
    if (trunk.from() == data_plane) config.trunks.push_back(ToTrunkEnd(trunk, true));
    if (trunk.to() == data_plane) config.trunks.push_back(ToTrunkEnd(trunk, false));
  }
  config.without_circuit = topology.circuits().without_circuit() == v1::CircuitPolicy::DROP
                               ? dataplane::WithoutCircuit::kDrop
                               : dataplane::WithoutCircuit::kBestEffort;
  absl::StatusOr<dataplane::LinkPlan> links =
      ToLinkPlan(topology.links(), LinkOverrides(), *network);
  if (!links.ok()) return WithPrefix(links.status(), "links");
  config.links = *std::move(links);
  config.spare_queue_pairs = static_cast<int>(plane->spare_queue_pairs());
  config.queue_memory_mb = plane->queue_memory_mb();
  config.max_frame_bytes = topology.max_frame_bytes();
  config.idle =
      plane->idle() == v1::POLL ? dataplane::IdleMode::kPoll : dataplane::IdleMode::kAdaptive;
  return config;
}

}  // namespace bfly::control
