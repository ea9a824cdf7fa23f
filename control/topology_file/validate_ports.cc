// SPDX-License-Identifier: Apache-2.0
// Checks host ports: rows, devices and queues.
#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "control/topology_file/ranges.h"
#include "control/topology_file/validate_parts.h"

namespace bfly::control::validation {
namespace {

// The text of a device is kept with the port.
constexpr size_t kLongestDevice = 4096;

// The parts of a device string that no other port of the data plane may have: the name of a
// numbered device or a PCI address, and the kernel interface. "net_null" and the like get a number
// of their own (dataplane/ports/ethdev.h, NumberedDevice).
std::vector<std::string> DeviceKeys(absl::string_view device) {
  const std::vector<absl::string_view> parts = absl::StrSplit(device, ',');
  const absl::string_view name = parts.front();
  std::vector<std::string> keys;
  if (!name.empty() && absl::ascii_isdigit(name.back())) keys.emplace_back(name);
  for (const absl::string_view part : parts) {
    if (absl::StartsWith(part, "iface=")) keys.emplace_back(part);
  }
  return keys;
}

class PortCheck {
 public:
  explicit PortCheck(Context& context) : context_(context) {
    const uint32_t rows = context.network ? context.network->rows() : 0;
    input_port_.assign(rows, kNobody);
    output_port_.assign(rows, kNobody);
  }

  void CheckRows(int index, const std::string& at, const v1::HostPort& port, int plane) {
    if (!context_.network) return;
    const absl::StatusOr<std::vector<Range>> rows = ParseRanges(port.rows());
    if (!rows.ok()) return;  // a broken field rule
    if (const absl::Status sound = CheckRanges(*rows, context_.network->rows() - 1, "row");
        !sound.ok()) {
      return context_.Report(at + ".rows", Quotable(port.rows()), std::string(sound.message()));
    }
    CheckTranslation(at, port, CountOf(*rows));
    if (plane == kNobody) return;
    if (context_.topology.data_planes_size() == 1) {
      // All stages run there, also those of a file without a placement.
      Attach(input_port_, index, at, *rows);
      return;
    }
    if (!context_.placed) return;
    const bool is_input = plane == context_.owner.front();
    const bool is_output = plane == context_.owner.back();
    if (!is_input && !is_output) {
      return context_.Report(
          at + ".data_plane", port.data_plane(),
          absl::StrCat(port.data_plane(),
                       " runs neither the first nor the last stage, nothing can be "
                       "attached there (allowed: ",
                       context_.DataPlaneName(context_.owner.front()), ", ",
                       context_.DataPlaneName(context_.owner.back()), ")"));
    }
    if (is_input && !Attach(input_port_, index, at, *rows)) return;
    if (is_output) Attach(output_port_, index, at, *rows);
  }

  void CheckDevice(const std::string& field, const std::string& device, int plane) {
    if (device.empty()) return;
    if (device.size() > kLongestDevice) {
      return context_.Report(field, Quotable(device),
                             absl::StrCat("\"", Quotable(device), "\" has ", device.size(),
                                          " characters (allowed: up to ", kLongestDevice, ")"));
    }
    for (const char c : device) {
      if (absl::ascii_iscntrl(c)) {
        return context_.Report(
            field, Quotable(device),
            absl::StrCat("\"", Quotable(device),
                         "\" has a control character; a device string is one line"));
      }
    }
    if (plane == kNobody) return;
    for (const std::string& key : DeviceKeys(device)) {
      const auto [first, fresh] = devices_[plane].emplace(key, field);
      if (fresh || first->second == field) continue;
      return context_.Report(field, Quotable(device),
                             absl::StrCat("\"", Quotable(key), "\" is taken by ", first->second,
                                          " (allowed: every device once in a data plane)"));
    }
  }

 private:
  void CheckTranslation(const std::string& at, const v1::HostPort& port, uint64_t rows) {
    if (!port.translate_mac()) return;
    if (rows > 1) {
      context_.Report(
          at + ".translate_mac", "true",
          absl::StrCat("a port of ", rows,
                       " rows has no one MAC address to translate to (allowed: false)"));
    } else if (context_.topology.addressing().mode() != v1::Addressing::MAC) {
      context_.Report(
          at + ".translate_mac", "true",
          "hosts keep their MAC address anyway unless the mode is mac (allowed: false)");
    }
  }

  // Stops at the first row that is taken, so that all ports together cost no more time than the
  // network has rows.
  bool Attach(std::vector<int>& port_of_row, int index, const std::string& at,
              const std::vector<Range>& rows) {
    for (const Range& range : rows) {
      for (uint32_t row = range.first; row <= range.last; ++row) {
        int& port = port_of_row[row];
        if (port == kNobody) {
          port = index;
          continue;
        }
        context_.Report(at + ".rows", Quotable(context_.topology.ports(index).rows()),
                        absl::StrCat("row ", row, " is attached to ", context_.port_fields[port],
                                     " already (allowed: every row to one port)"));
        return false;
      }
    }
    return true;
  }

  Context& context_;
  // By row: its port, kNobody if it has none. Frames enter at the data plane of the first stage and
  // leave at the data plane of the last stage. In a fabric that is not split a port does both, and
  // only input_port_ is used.
  std::vector<int> input_port_;
  std::vector<int> output_port_;
  std::map<int, std::map<std::string, std::string>> devices_;  // by data plane
};

}  // namespace

namespace {

// The field of a file that says which device a port has. A host's follows from another field.
std::string DeviceField(const std::string& at, absl::string_view device) {
  if (!absl::StartsWith(at, "hosts")) return at + ".device";
  return at + (absl::StartsWith(device, "net_vhost") ? ".vhost_socket" : ".port_interface");
}

// Every queue pair keeps at least this many buffers in its receive ring.
constexpr uint64_t kBuffersOfQueue = 1024;
constexpr uint64_t kSmallestBuffer = 2048;

// This is a lower bound only. The data plane knows its devices and checks the memory that it really
// needs.
void CheckMemory(Context& context) {
  const v1::Topology& topology = context.topology;
  std::vector<uint64_t> queue_pairs(topology.data_planes_size());
  const auto count = [&](const std::string& plane, uint32_t pairs) {
    const auto found = context.data_planes.find(plane);
    if (found != context.data_planes.end()) queue_pairs[found->second] += pairs;
  };
  for (const v1::HostPort& port : topology.ports()) count(port.data_plane(), port.queue_pairs());
  for (const v1::Trunk& trunk : topology.trunks()) {
    count(trunk.from(), trunk.queue_pairs());
    count(trunk.to(), trunk.queue_pairs());
  }
  const uint64_t buffer = std::max<uint64_t>(kSmallestBuffer, topology.max_frame_bytes());
  for (int i = 0; i < topology.data_planes_size(); ++i) {
    constexpr uint64_t kMiB = uint64_t{1} << 20;
    const uint64_t needed = (queue_pairs[i] * kBuffersOfQueue * buffer + kMiB - 1) / kMiB;
    if (needed <= topology.data_planes(i).memory_mb()) continue;
    context.Report(
        absl::StrCat("data_planes[", i, "].memory_mb"),
        absl::StrCat(topology.data_planes(i).memory_mb()),
        absl::StrCat(topology.data_planes(i).memory_mb(), " MiB cannot hold the receive rings of ",
                     queue_pairs[i], " queue pairs (allowed: ", needed, " or more)"));
  }
}

}  // namespace

void CheckPorts(Context& context) {
  PortCheck check(context);
  const v1::Topology& topology = context.topology;
  for (int i = 0; i < topology.ports_size(); ++i) {
    const v1::HostPort& port = topology.ports(i);
    const std::string& at = context.port_fields[i];
    const int plane = context.FindDataPlane(at + ".data_plane", port.data_plane(), true);
    check.CheckRows(i, at, port, plane);
    check.CheckDevice(DeviceField(at, port.device()), port.device(), plane);
    if (port.queue_pairs() > 0 && static_cast<uint32_t>(port.lcores_size()) > port.queue_pairs()) {
      context.Report(at + ".lcores", absl::StrCat(port.lcores_size()),
                     absl::StrCat(port.lcores_size(), " lcores for ", port.queue_pairs(),
                                  port.queue_pairs() == 1 ? " queue pair" : " queue pairs",
                                  " (allowed: at most one a queue pair)"));
    }
  }
  for (int i = 0; i < topology.trunks_size(); ++i) {
    const v1::Trunk& trunk = topology.trunks(i);
    const std::string at = absl::StrCat("trunks[", i, "]");
    const auto plane_of = [&](const std::string& name) {
      const auto found = context.data_planes.find(name);
      return found == context.data_planes.end() ? kNobody : found->second;
    };
    check.CheckDevice(at + ".from_device", trunk.from_device(), plane_of(trunk.from()));
    check.CheckDevice(at + ".to_device", trunk.to_device(), plane_of(trunk.to()));
  }
  CheckMemory(context);
}

}  // namespace bfly::control::validation
