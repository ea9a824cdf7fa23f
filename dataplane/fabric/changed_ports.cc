// SPDX-License-Identifier: Apache-2.0
// LoadedPorts: host ports that come and go while the fabric runs.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/fabric/loaded_ports.h"
#include "dataplane/fabric/port_facts.h"
#include "dataplane/ports/attached_device.h"

namespace bfly::dataplane {
namespace {

void AddTo(PortCounters& sum, const PortCounters& port) {
  sum.rx_packets += port.rx_packets;
  sum.rx_bytes += port.rx_bytes;
  sum.tx_packets += port.tx_packets;
  sum.tx_bytes += port.tx_bytes;
  sum.rx_missed += port.rx_missed;
  for (int i = 0; i < kDropReasons; ++i) sum.drops[i] += port.drops[i];
  AddXdpCounters(port.xdp, sum.xdp);
}

}  // namespace

absl::Status LoadedPorts::CheckBuffers(const FabricConfig& next, const HostPortConfig& port) const {
  if (pool_ == nullptr) return absl::OkStatus();
  if (IsAfXdp(port.device) && !pool_takes_af_xdp_) {
    return absl::FailedPreconditionError(
        "device: the buffers of this fabric are not laid out for net_af_xdp, because none of its "
        "ports was an AF_XDP port when it was loaded; load it with one (bfly up --replace), or use "
        "net_af_packet, net_tap or net_memif");
  }
  const int wanted = QueuePairsOf(next);
  if (wanted <= pool_queue_pairs_) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "queue_pairs: with this port there are ", wanted, " queue pairs, and the buffers of frames, ",
      "which are set aside when a fabric is loaded, are enough for ", pool_queue_pairs_,
      "; remove another port, or load the topology again (bfly up --replace) with more "
      "spare_queue_pairs, which needs more memory_mb"));
}

absl::StatusOr<std::unique_ptr<HostPort>> LoadedPorts::Open(const FabricConfig& next,
                                                            size_t index) {
  if (absl::Status status = CheckBuffers(next, next.ports[index]); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat("ports[", index, "].", status.message()));
  }
  const bool first = pool_ == nullptr;
  if (first) {
    if (absl::Status status = MakePool(next); !status.ok()) return status;
  }
  absl::StatusOr<std::unique_ptr<HostPort>> port = absl::UnknownError("not opened");
  keeper_.Do([&] { port = OpenPort(next, index); });
  if (first && !port.ok()) {
    const std::lock_guard<std::mutex> lock(mutex_);
    pool_.reset();  // the next first port may need another layout
  }
  return port;
}

void LoadedPorts::Insert(std::unique_ptr<HostPort> port) {
  const HostPortConfig& config = port->config();
  Facts facts{.status = StatusOf(*port, *plan_),
              .warnings = NodeWarnings({PolledBy(config, *plan_, SendsToHosts(present_))})};
  const std::lock_guard<std::mutex> lock(mutex_);
  names_.Add(config.name);
  present_.ports.push_back(config);
  host_facts_.push_back(std::move(facts));
  host_ports_.push_back(std::move(port));
}

bool LoadedPorts::StopReceiving(HostPort& port) {
  bool stopped = false;
  keeper_.Do([&] { stopped = port.StopReceiving(); });
  return stopped;
}

void LoadedPorts::TakeOut(const HostPort& port) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < host_ports_.size(); ++i) {
    if (host_ports_[i].get() != &port) continue;
    const auto at = static_cast<std::ptrdiff_t>(i);
    closing_.push_back(std::move(host_ports_[i]));
    host_ports_.erase(host_ports_.begin() + at);
    host_facts_.erase(host_facts_.begin() + at);
    break;
  }
  std::erase_if(present_.ports,
                [&](const HostPortConfig& other) { return other.name == port.config().name; });
}

void LoadedPorts::Close(const HostPort& port) {
  std::unique_ptr<HostPort> closed;
  keeper_.Do([&] {
    const auto it = std::find_if(closing_.begin(), closing_.end(),
                                 [&](const auto& other) { return other.get() == &port; });
    (*it)->Retire();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closed = std::move(*it);
      closing_.erase(it);
      AddTo(removed_, closed->counters());
    }
    closed.reset();
  });
}

bool LoadedPorts::IsClosing(const std::string& name) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::any_of(closing_.begin(), closing_.end(),
                     [&](const auto& port) { return port->config().name == name; });
}

std::shared_ptr<const void> LoadedPorts::OfferFlood(std::vector<Row> rows_elsewhere) {
  present_.rows_elsewhere = std::move(rows_elsewhere);
  const auto before = std::exchange(flood_, FloodRows(present_));
  for (const auto& port : host_ports_) {
    for (int q = 0; q < port->queue_pairs(); ++q) port->inlet(q).SetFlood(flood_.get());
  }
  return before;
}

std::vector<HostPortConfig> LoadedPorts::Configs() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<HostPortConfig> configs;
  for (const auto& port : host_ports_) configs.push_back(port->config());
  return configs;
}

std::vector<bool> LoadedPorts::HasPort(uint32_t rows) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<bool> has_port(rows);
  for (const auto& port : host_ports_) {
    for (const Row row : port->config().rows) has_port[row] = true;
  }
  return has_port;
}

uint32_t LoadedPorts::NumberOf(const HostPort& port) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return names_.NumberOf(port.config().name);
}

std::string LoadedPorts::NameOf(uint32_t number) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return names_.NameOf(number);
}

}  // namespace bfly::dataplane
