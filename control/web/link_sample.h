// SPDX-License-Identifier: Apache-2.0
// What the page knows of every link at one moment, and what it sums up of that. Pure functions of
// the controller's answers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "bfly/v1/fabric.pb.h"
#include "bfly/v1/telemetry.pb.h"
#include "control/rates/counter_rates.h"

namespace bfly::control {

// Where the links of a network lead.
struct Wiring {
  uint32_t rows = 0;
  uint32_t stages = 0;
  uint32_t ports = 0;   // of a node
  uint32_t levels = 0;  // a wrapped network has as many as stages
  // A hypercube: a hop that keeps the row crosses no link of the cube (Network::straight_is_free).
  bool straight_is_free = false;
  // The row that the link (stage, row, port) leads to, at index (stage * rows + row) * ports +
  // port. Empty if not every link is read.
  std::vector<uint32_t> next_rows;

  static constexpr uint64_t kMostLinks = 262'144;
  size_t index(uint32_t stage, uint32_t row, uint32_t port) const {
    return (size_t{stage} * rows + row) * ports + port;
  }
  uint64_t links() const { return uint64_t{rows} * stages * ports; }
};

// Whether the network is a hypercube, whose links that keep the row are free
// (Network::straight_is_free).
bool StraightIsFree(const v1::DescribeResponse& description);

// The wiring that a description tells, without next rows if the network has more than `most_links`.
// INTERNAL: a link of it is outside the network.
absl::StatusOr<Wiring> WiringOf(const v1::DescribeResponse& description,
                                uint64_t most_links = Wiring::kMostLinks);

// One link at one moment.
struct SampledLink {
  uint32_t stage = 0;
  uint32_t row = 0;
  uint32_t port = 0;
  uint32_t next_row = 0;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  uint64_t drops = 0;
  // Means a second since the sample before. They are 0 where they are not known, as in the first
  // sample.
  bool rate_is_known = false;
  double packet_rate = 0;
  double byte_rate = 0;
  double drop_rate = 0;
  uint32_t occupancy = 0;
  uint32_t occupancy_peak = 0;
  uint32_t circuits = 0;
  uint32_t circuit_capacity = 0;
  uint32_t congestion = 0;  // the circuits, but 0 on a straight link of a hypercube
  bool down = false;
};

struct FabricSample {
  uint64_t fabric = 0;  // FabricWatch::Known::fabric
  std::shared_ptr<const Wiring> wiring;
  // Every link, by Wiring::index; or only the fullest ones that carry something, where the network
  // has too many (FabricWatch::Options::most_links).
  std::vector<SampledLink> links;
  // How many links of each stage are down, among all links of the network. Not known where a node
  // of such a large network is down.
  std::optional<std::vector<uint32_t>> down;
  bool every_link() const { return !wiring->next_rows.empty(); }
};

// The sample that `counters` and `down` give. `before` is of the picture before of the same fabric,
// or null.
FabricSample SampleOf(std::shared_ptr<const Wiring> wiring, const v1::Counters& counters,
                      const v1::GetLinksResponse& down, const Counts* before);

// The links from one band of rows to another, of one stage, added up. A band has rows / bands rows,
// one beside the other.
struct BandLink {
  uint32_t stage = 0;
  uint32_t from = 0;  // band
  uint32_t to = 0;
  uint32_t links = 0;
  uint32_t down = 0;
  uint64_t packets = 0;
  uint64_t drops = 0;
  double packet_rate = 0;
  double byte_rate = 0;
  double drop_rate = 0;
  uint64_t occupancy = 0;
  uint64_t circuits = 0;
  // The figures of the fullest link. Circuits are its congestion.
  double most_packet_rate = 0;
  double most_byte_rate = 0;
  uint32_t most_occupancy = 0;
  uint32_t most_circuits = 0;
  uint64_t most_drops = 0;
};
inline constexpr uint32_t kMostBands = 64;

// In the order of stage, from, to. `bands` is 1..kMostBands, at most the number of rows.
std::vector<BandLink> Bands(const FabricSample& sample, uint32_t bands);

// The sums over FabricSample::links of a stage.
struct StageLoad {
  uint64_t packets = 0;
  uint64_t drops = 0;
  double packet_rate = 0;
  double drop_rate = 0;
  uint64_t occupancy = 0;
  uint64_t circuits = 0;
  std::optional<uint32_t> down;  // of all links of the stage, as in FabricSample::down
};
std::vector<StageLoad> StageLoads(const FabricSample& sample);

// The figure by which links are compared. kCircuits is SampledLink::congestion.
enum class LinkFigure { kPacketRate, kByteRate, kPackets, kOccupancy, kCircuits, kDrops };

// The `count` links with the largest figure, none of them zero. Of equal links, those with the
// lowest stage, row and port come first.
std::vector<SampledLink> Hottest(const FabricSample& sample, LinkFigure by, size_t count);

// Links that leave or enter one of the rows first_row..last_row in the stages
// first_stage..last_stage.
struct RowWindow {
  uint32_t first_row = 0;
  uint32_t last_row = 0;
  uint32_t first_stage = 0;
  uint32_t last_stage = 0;
};
std::vector<SampledLink> LinksIn(const FabricSample& sample, const RowWindow& window);

}  // namespace bfly::control
