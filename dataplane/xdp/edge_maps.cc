// SPDX-License-Identifier: Apache-2.0
#include "dataplane/xdp/edge_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"
#include "dataplane/runtime/process_start.h"

namespace bfly::dataplane {
namespace {

constexpr char kProgramName[] = "bfly_edge";

absl::Status Failed(absl::string_view what) {
  const std::string hint =
      errno == EPERM ? " (needs CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN; run as root)" : "";
  return absl::UnavailableError(absl::StrCat("XDP: cannot ", what, ": ", strerror(errno), hint));
}

uint64_t SumOverCpus(const uint64_t* per_cpu, int cpus) {
  uint64_t sum = 0;
  for (int cpu = 0; cpu < cpus; ++cpu) sum += per_cpu[cpu];
  return sum;
}

}  // namespace

const char* EdgeCountName(edge_count count) {
  switch (count) {
    case EDGE_TO_ROW:
      return "to_row";
    case EDGE_FLOOD:
      return "flood";
    case EDGE_TO_TRUNK:
      return "to_trunk";
    case EDGE_NO_SOCKET:
      return "no_socket";
    case EDGE_FOREIGN:
      return "foreign";
    case EDGE_NOT_READY:
      return "not_ready";
    case EDGE_TRUNCATED:
      return "truncated";
    case EDGE_OVERSIZED:
      return "oversized";
    case EDGE_BAD_HEADER:
      return "bad_header";
    case EDGE_UNKNOWN_ROW:
      return "unknown_row";
    case EDGE_COUNTS:
      break;
  }
  return "unknown";
}

absl::StatusOr<EdgeMaps> EdgeMaps::OfProgram(uint32_t program_id) {
  OwnedFd program(bpf_prog_get_fd_by_id(program_id));
  if (!program) return Failed(absl::StrCat("open XDP program ", program_id));
  uint32_t map_ids[8] = {};
  bpf_prog_info info = {};
  info.nr_map_ids = std::size(map_ids);
  info.map_ids = reinterpret_cast<uintptr_t>(map_ids);
  uint32_t size = sizeof(info);
  if (bpf_obj_get_info_by_fd(program.get(), &info, &size) != 0) return Failed("read program");
  if (std::strcmp(info.name, kProgramName) != 0) {
    return absl::NotFoundError(
        absl::StrCat("XDP program ", program_id, " is '", info.name, "', not bfly's"));
  }

  EdgeMaps maps;
  for (uint32_t i = 0; i < info.nr_map_ids && i < std::size(map_ids); ++i) {
    OwnedFd map(bpf_map_get_fd_by_id(map_ids[i]));
    if (!map) return Failed(absl::StrCat("open BPF map ", map_ids[i]));
    bpf_map_info map_info = {};
    size = sizeof(map_info);
    if (bpf_obj_get_info_by_fd(map.get(), &map_info, &size) != 0) return Failed("read map");
    if (!std::strcmp(map_info.name, "edge_config")) maps.config_ = std::move(map);
    if (!std::strcmp(map_info.name, "edge_counts")) maps.counts_ = std::move(map);
    if (!std::strcmp(map_info.name, "edge_rows")) maps.rows_ = std::move(map);
    if (!std::strcmp(map_info.name, "xsks_map")) maps.sockets_ = std::move(map);
  }
  if (!maps.config_ || !maps.counts_ || !maps.rows_ || !maps.sockets_) {
    return absl::NotFoundError(
        absl::StrCat("XDP program ", program_id, " lacks a map of this version of bfly"));
  }
  return maps;
}

absl::Status EdgeMaps::Configure(const EdgeRules& rules) {
  const FrameRules& frames = rules.frames;
  chunks_.clear();
  std::vector<uint32_t> keys;
  std::vector<int> fds;
  for (uint32_t first = 0; first < frames.rows; first += EDGE_ROWS_PER_CHUNK) {
    OwnedFd chunk(bpf_map_create(BPF_MAP_TYPE_PERCPU_ARRAY, "edge_chunk", sizeof(uint32_t),
                                 sizeof(uint64_t), EDGE_ROWS_PER_CHUNK, nullptr));
    if (!chunk) return Failed("create row counters");
    keys.push_back(first / EDGE_ROWS_PER_CHUNK);
    fds.push_back(chunk.get());
    chunks_.push_back(std::move(chunk));
  }
  // Single updates would each wait for a grace period of RCU, 12 ms. In a batch they wait together.
  uint32_t placed = static_cast<uint32_t>(fds.size());
  if (bpf_map_update_batch(rows_.get(), keys.data(), fds.data(), &placed, nullptr) != 0) {
    return Failed("place row counters");
  }

  const bool mac = frames.mode == AddressingMode::kMac;
  const edge_config config = {
      .ready = 1,
      .mode = static_cast<uint32_t>(mac ? EDGE_MODE_MAC : EDGE_MODE_IPV4),
      .role = static_cast<uint32_t>(rules.trunk ? EDGE_TRUNK : EDGE_HOST),
      .rows = frames.rows,
      .tag_bits = static_cast<uint32_t>(frames.tags.bits()),
      .ipv4_base = frames.ipv4_base,
      .ipv4_addresses = frames.ipv4_addresses,
      .max_frame_bytes = frames.max_frame_bytes,
      .owner_start = ProcessStart(getpid()),
      .owner_pid = static_cast<uint32_t>(getpid()),
      .field_bits = static_cast<uint16_t>(frames.tags.field_bits),
      .multiplicity = static_cast<uint16_t>(frames.tags.multiplicity),
      .last_reversed = frames.last_hops.reversed,
      .last_turn = static_cast<uint16_t>(frames.last_hops.turn),
      .dimension = static_cast<uint32_t>(frames.last_hops.dimension),
  };
  const uint32_t key = 0;
  if (bpf_map_update_elem(config_.get(), &key, &config, BPF_ANY) != 0) {
    return Failed("write the configuration");
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> EdgeMaps::OwnerLives() const {
  const uint32_t key = 0;
  edge_config config;
  if (bpf_map_lookup_elem(config_.get(), &key, &config) != 0) {
    return Failed("read the configuration");
  }
  if (config.owner_pid != 0 &&
      config.owner_start == ProcessStart(static_cast<pid_t>(config.owner_pid))) {
    return true;
  }
  return HasSocket();
}

// The kernel does not let a map of sockets be read. It refuses to put a socket where one is.
absl::StatusOr<bool> EdgeMaps::HasSocket() const {
  const OwnedFd probe(socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0));
  const int ring = 64;
  if (!probe || setsockopt(probe.get(), SOL_XDP, XDP_RX_RING, &ring, sizeof(ring)) != 0) {
    return Failed("open a socket");
  }
  const int fd = probe.get();
  for (uint32_t queue = 0; queue < EDGE_MAX_QUEUES; ++queue) {
    // When the probe is closed the kernel takes it out again wherever it still is.
    if (bpf_map_update_elem(sockets_.get(), &queue, &fd, BPF_NOEXIST) == 0) continue;
    if (errno == EEXIST) return true;
    return Failed(absl::StrCat("look at the socket of queue ", queue));
  }
  return false;
}

absl::StatusOr<std::array<uint64_t, EDGE_COUNTS>> EdgeMaps::ReadCounts() const {
  const int cpus = libbpf_num_possible_cpus();
  std::vector<uint64_t> per_cpu(cpus);
  std::array<uint64_t, EDGE_COUNTS> counts{};
  for (uint32_t key = 0; key < EDGE_COUNTS; ++key) {
    if (bpf_map_lookup_elem(counts_.get(), &key, per_cpu.data()) != 0) {
      return Failed("read counters");
    }
    counts[key] = SumOverCpus(per_cpu.data(), cpus);
  }
  return counts;
}

absl::Status EdgeMaps::ReadChunk(const OwnedFd& chunk, uint32_t first_row,
                                 XdpCounters& counters) const {
  const int cpus = libbpf_num_possible_cpus();
  std::vector<uint32_t> keys(EDGE_ROWS_PER_CHUNK);
  std::vector<uint64_t> values(static_cast<size_t>(EDGE_ROWS_PER_CHUNK) * cpus);
  uint32_t next = 0;
  uint32_t found = EDGE_ROWS_PER_CHUNK;
  if (bpf_map_lookup_batch(chunk.get(), nullptr, &next, keys.data(), values.data(), &found,
                           nullptr) != 0 &&
      errno != ENOENT) {
    return Failed("read row counters");
  }
  for (uint32_t i = 0; i < found; ++i) {
    const uint64_t packets = SumOverCpus(&values[static_cast<size_t>(i) * cpus], cpus);
    if (packets != 0) counters.rows.push_back({first_row + keys[i], packets});
  }
  return absl::OkStatus();
}

absl::StatusOr<XdpCounters> EdgeMaps::Read() const {
  XdpCounters counters;
  const auto counts = ReadCounts();
  if (!counts.ok()) return counts.status();
  for (int i = 0; i < EDGE_COUNTS; ++i) {
    counters.actions.push_back({EdgeCountName(static_cast<edge_count>(i)), (*counts)[i]});
  }
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const absl::Status status =
        ReadChunk(chunks_[i], static_cast<uint32_t>(i) * EDGE_ROWS_PER_CHUNK, counters);
    if (!status.ok()) return status;
  }
  return counters;
}

}  // namespace bfly::dataplane
