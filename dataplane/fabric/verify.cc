// SPDX-License-Identifier: Apache-2.0
// Fabric::Verify makes the checks of a config that are possible before the fabric is built.
#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "dataplane/fabric/fabric.h"
#include "dataplane/fabric/memory_need.h"
#include "dataplane/fabric/verify_port.h"
#include "dataplane/in_band/in_band_memory.h"
#include "dataplane/links/link_plan.h"
#include "dataplane/ports/pci_device.h"
#include "dataplane/runtime/capability.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/stages/plan.h"

namespace bfly::dataplane {
namespace {

constexpr int kMaxQueuePairs = 64;
constexpr uint32_t kMinFrameBytes = 64;
constexpr uint32_t kMaxFrameBytes = 9018;
constexpr uint32_t kMaxQueueMemoryMb = 262144;

class Verifier {
 public:
  explicit Verifier(const FabricConfig& config) : config_(config) {}

  // Finds errors in the names, devices and rows of ports and trunks.
  std::vector<absl::Status> RunPorts(const Network& network) {
    // If two entries contradict each other, the later one is reported as wrong. So trunks come
    // first.
    for (size_t i = 0; i < config_.trunks.size(); ++i) {
      const TrunkConfig& trunk = config_.trunks[i];
      Device(absl::StrCat("trunks[", i, "]"), trunk.name, trunk.device, trunk.queue_pairs);
    }
    Ports(network);
    return std::move(errors_);
  }

  std::vector<absl::Status> Run() {
    Scalars();
    Links();
    const absl::StatusOr<Network> network = Network::Make(config_.network);
    if (!network.ok()) {
      Error("network.", network.status().message());
      return std::move(errors_);
    }
    Addressing(*network);
    Placement(*network);
    Ports(*network);
    Trunks(*network);
    Workers();
    if (CheckLinkShape("links.", config_.links.base).ok()) {
      Keep(CheckLinkPlan(config_.links, *network));
    }
    if (first_stage_ <= last_stage_) Memory(*network);
    return std::move(errors_);
  }

 private:
  template <typename... Parts>
  void Error(const Parts&... parts) {
    errors_.push_back(absl::InvalidArgumentError(absl::StrCat(parts...)));
  }
  void Keep(absl::Status status) {
    if (!status.ok()) errors_.push_back(std::move(status));
  }

  void Scalars() {
    if (config_.max_frame_bytes < kMinFrameBytes || config_.max_frame_bytes > kMaxFrameBytes) {
      Error("max_frame_bytes: ", config_.max_frame_bytes, " is outside ", kMinFrameBytes, "..",
            kMaxFrameBytes);
    }
    if (config_.queue_memory_mb < 1 || config_.queue_memory_mb > kMaxQueueMemoryMb) {
      Error("queue_memory_mb: ", config_.queue_memory_mb, " is outside 1..", kMaxQueueMemoryMb);
    }
  }

  void Links() { Keep(CheckLinkShape("links.", config_.links.base)); }

  void Addressing(const Network& network) {
    const AddressingConfig& a = config_.addressing;
    if (a.mode != AddressingMode::kIpv4Prefix) return;
    if (a.ipv4_prefix_len < 0 || a.ipv4_prefix_len > 32) {
      Error("addressing.ipv4_prefix_len: ", a.ipv4_prefix_len, " is outside 0..32");
    } else if ((uint64_t{1} << (32 - a.ipv4_prefix_len)) < network.rows()) {
      Error("addressing.ipv4_prefix_len: /", a.ipv4_prefix_len, " has fewer addresses than the ",
            network.rows(), " rows; use /", 32 - network.dimension(), " or shorter");
    }
  }

  void Placement(const Network& network) {
    const int stages = network.stages();
    std::vector<std::map<Row, PlacedRows>> placed(stages);  // by first row
    for (size_t i = 0; i < config_.placement.size(); ++i) {
      const StagePlacement& p = config_.placement[i];
      const std::string at = absl::StrCat("placement[", i, "]");
      Keep(CheckCpu(at + ".lcore", p.lcore));
      if (p.first_stage < 0 || p.last_stage >= stages || p.first_stage > p.last_stage) {
        Error(at, ".stages: ", p.first_stage, "-", p.last_stage, " is not a range within 0-",
              stages - 1);
        continue;
      }
      const bool all = p.rows == RowRange();
      if (!all && (p.rows.first > p.rows.last || p.rows.last >= network.rows())) {
        Error(at, ".rows: ", p.rows.first, "-", p.rows.last, " is not a range within 0-",
              network.rows() - 1);
        continue;
      }
      const Row last = all ? network.rows() - 1 : p.rows.last;
      for (int s = p.first_stage; s <= p.last_stage; ++s) {
        Place(network, placed[s], at, s, {p.rows.first, last, i});
      }
    }
    const auto is_empty = [&placed](int s) { return placed[s].empty(); };
    while (first_stage_ < stages && is_empty(first_stage_)) ++first_stage_;
    if (first_stage_ == stages) {
      Error("placement: no stage is placed; place stages 0-", stages - 1);
      return;
    }
    last_stage_ = stages - 1;
    while (is_empty(last_stage_)) --last_stage_;
    for (int s = first_stage_; s <= last_stage_; ++s) {
      if (is_empty(s)) {
        Error("placement: stage ", s,
              " is placed nowhere; a data plane runs every stage from its first ", "to its last");
        continue;
      }
      Row next = 0;
      for (const auto& [first, rows] : placed[s]) {
        Unplaced(s, next, first);
        next = rows.last + 1;
      }
      Unplaced(s, next, network.rows());
      Blocks(s, placed[s]);
    }
    if (first_stage_ > 0 && !HasTrunk(first_stage_ - 1, false)) {
      Error("placement: ", Stages(0, first_stage_ - 1),
            " placed nowhere, and no trunk brings packets to ", "stage ", first_stage_);
    }
    if (last_stage_ < stages - 1 && !HasTrunk(last_stage_, true)) {
      Error("placement: ", Stages(last_stage_ + 1, stages - 1),
            " placed nowhere, and no trunk takes packets after stage ", last_stage_);
    }
  }

  void Memory(const Network& network) {
    uint64_t need = MemoryNeed(network, first_stage_, last_stage_);
    // A plan is made only for stages, ports and trunks that fit together.
    if (errors_.empty()) {
      need += SegmentMemoryNeed(network, PlanFabric(config_, network)) +
              TimedMemoryNeed(network, config_.links, first_stage_, last_stage_);
    }
    if (first_stage_ == 0) return Keep(CheckMemoryNeed(network, need, AvailableMemory()));
    // Behind a trunk messages of programs may come at any time. Where the inputs are, memory for
    // messages is taken when the first program is asked for.
    const uint64_t messages =
        InBandMemoryNeed(network, first_stage_, last_stage_, config_.circuit_capacity);
    Keep(CheckMemoryNeed(network, need + messages, AvailableMemory(),
                         "the stages and blocks of rows placed here and messages of programs"));
  }

  struct PlacedRows {
    Row first;
    Row last;
    size_t entry;
  };
  // Adds rows to the placed rows of a stage, unless some of them are placed already.
  void Place(const Network& network, std::map<Row, PlacedRows>& placed, const std::string& at,
             int stage, const PlacedRows& rows) {
    auto other = placed.upper_bound(rows.last);
    if (other == placed.begin() || (--other)->second.last < rows.first) {
      placed.emplace(rows.first, rows);
      return;
    }
    const Row first = std::max(rows.first, other->second.first);
    const Row last = std::min(rows.last, other->second.last);
    if (first == 0 && last == network.rows() - 1) {
      Error(at, ".stages: stage ", stage, " is placed twice, also by placement[",
            other->second.entry, "]");
    } else {
      Error(at, ".rows: ", Rows(first, last), " of stage ", stage, first == last ? " is" : " are",
            " placed twice, also by placement[", other->second.entry, "]");
    }
  }

  // Neighbours on one lcore are one block.
  void Blocks(int stage, const std::map<Row, PlacedRows>& placed) {
    size_t blocks = 0;
    int last = -1;
    for (const auto& [first, rows] : placed) {
      const int lcore = config_.placement[rows.entry].lcore;
      if (blocks == 0 || lcore != last) ++blocks;
      last = lcore;
    }
    if (blocks <= kMostBlocks) return;
    Error("placement: stage ", stage, " is cut into ", blocks, " blocks of rows, at most ",
          kMostBlocks, " are allowed; give each lcore rows that follow one another");
  }

  // Rows from..end-1 of the stage.
  void Unplaced(int stage, Row from, Row end) {
    if (from >= end) return;
    Error("placement: ", Rows(from, end - 1), " of stage ", stage, from + 1 == end ? " is" : " are",
          " placed nowhere; place every row of a stage once");
  }

  static std::string Rows(Row from, Row to) {
    return from == to ? absl::StrCat("row ", from) : absl::StrCat("rows ", from, "-", to);
  }

  static std::string Stages(int from, int to) {
    return from == to ? absl::StrCat("stage ", from, " is")
                      : absl::StrCat("stages ", from, "-", to, " are");
  }

  bool HasTrunk(int after_stage, bool sends) const {
    for (const TrunkConfig& t : config_.trunks) {
      if (t.after_stage == after_stage && t.sends == sends) return true;
    }
    return false;
  }

  void Device(const std::string& at, const std::string& name, const std::string& device,
              int queue_pairs) {
    if (name.empty()) {
      Error(at, ".name: empty; every port and trunk needs a name");
    } else if (!names_.emplace(name, at).second) {
      Error(at, ".name: \"", name, "\" is also ", names_[name]);
    }
    if (device.empty()) {
      Error(at, ".device: empty; name a DPDK device such as net_tap0 or 0000:00:04.0");
    } else if (!devices_.emplace(device, at).second) {
      Error(at, ".device: \"", device, "\" is also of ", devices_[device]);
    } else {
      Keep(CheckDeviceCapability(at + ".device", device));
      Keep(CheckPciDevice(at + ".device", device));
    }
    if (queue_pairs < 1 || queue_pairs > kMaxQueuePairs) {
      Error(at, ".queue_pairs: ", queue_pairs, " is outside 1..", kMaxQueuePairs);
    }
  }

  void Ports(const Network& network) {
    std::map<Row, size_t> port_of_row;
    for (size_t i = 0; i < config_.ports.size(); ++i) {
      const HostPortConfig& port = config_.ports[i];
      const std::string at = absl::StrCat("ports[", i, "]");
      Device(at, port.name, port.device, port.queue_pairs);
      if (port.rows.empty()) Error(at, ".rows: empty; name the rows attached to the port");
      for (Row row : port.rows) {
        if (row >= network.rows()) {
          Error(at, ".rows: ", row, " is outside 0..", network.rows() - 1);
        } else if (const auto [it, is_new] = port_of_row.emplace(row, i); !is_new) {
          Error(at, ".rows: row ", row, " is attached twice, also to ports[", it->second, "]");
        }
      }
      for (size_t j = 0; j < port.lcores.size(); ++j) {
        Keep(CheckCpu(absl::StrCat(at, ".lcores[", j, "]"), port.lcores[j]));
      }
    }
  }

  void Trunks(const Network& network) {
    std::set<std::pair<int, bool>> boundaries;
    for (size_t i = 0; i < config_.trunks.size(); ++i) {
      const TrunkConfig& trunk = config_.trunks[i];
      const std::string at = absl::StrCat("trunks[", i, "]");
      Device(at, trunk.name, trunk.device, trunk.queue_pairs);
      if (network.spec().passes > 1) {
        Error(at, ": a wrapped butterfly of ", network.spec().passes,
              " passes runs in one data plane; its packets come back to stage 0");
      }
      const int boundary = trunk.sends ? last_stage_ : first_stage_ - 1;
      if (last_stage_ >= 0 &&
          (trunk.after_stage != boundary || boundary < 0 || boundary >= network.stages() - 1)) {
        Error(at, ".after_stage: ", trunk.after_stage, " is not where this data plane's stages ",
              first_stage_, "-", last_stage_, trunk.sends ? " end" : " begin");
      } else if (!boundaries.emplace(trunk.after_stage, trunk.sends).second) {
        Error(at, ".after_stage: ", trunk.after_stage,
              " has a trunk already; give it more queue_pairs");
      }
    }
  }

  void Workers() {
    std::set<int> lcores;
    for (const StagePlacement& p : config_.placement) lcores.insert(p.lcore);
    for (const HostPortConfig& port : config_.ports) {
      lcores.insert(port.lcores.begin(), port.lcores.end());
    }
    if (lcores.size() > kMostWorkers) {
      Error("placement: ", lcores.size(),
            " lcores are named, here and by ports; a data plane runs ", kMostWorkers,
            " workers at most, so use fewer lcores or several data planes");
    }
  }

  const FabricConfig& config_;
  std::vector<absl::Status> errors_;
  int first_stage_ = 0;
  int last_stage_ = -1;
  std::map<std::string, std::string> names_;    // -> where it was first used
  std::map<std::string, std::string> devices_;  // -> where it was first used
};

}  // namespace

std::vector<absl::Status> Fabric::Verify(const FabricConfig& config) {
  return Verifier(config).Run();
}

absl::Status VerifyPort(const FabricConfig& config, const Network& network, size_t index) {
  std::vector<std::string> errors;
  for (const absl::Status& status : Verifier(config).RunPorts(network)) {
    if (!absl::StartsWith(status.message(), absl::StrCat("ports[", index, "]"))) continue;
    errors.emplace_back(status.message());
  }
  if (errors.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(errors, "; "));
}

}  // namespace bfly::dataplane
