// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_load.h"

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "dataplane/core/descriptor.h"
#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/frame_pool.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kMbufs = 8191;
constexpr uint16_t kReferences = 16384;  // more than rings have places
constexpr double kDrainSeconds = 2;
constexpr double kQuietSeconds = 0.1;  // if no frame came for this time, all frames have come

uint64_t TscOf(double seconds) {
  return static_cast<uint64_t>(seconds * static_cast<double>(rte_get_tsc_hz()));
}

class Load {
 public:
  Load(uint16_t send, uint16_t receive, std::vector<rte_mbuf*> frames)
      : send_(send), receive_(receive), frames_(std::move(frames)) {}
  ~Load() {
    for (rte_mbuf* frame : frames_) {
      rte_mbuf_refcnt_set(frame, 1);
      rte_pktmbuf_free(frame);
    }
  }

  void RunUntil(uint64_t tsc) {
    do {
      for (int i = 0; i < 32; ++i) {
        Send();
        Receive();
      }
    } while (rte_rdtsc() < tsc);
  }

  void Drain() {
    const uint64_t give_up = rte_rdtsc() + TscOf(kDrainSeconds);
    uint64_t quiet_since = rte_rdtsc();
    while (rte_rdtsc() < give_up && rte_rdtsc() - quiet_since < TscOf(kQuietSeconds)) {
      if (Receive()) quiet_since = rte_rdtsc();
    }
  }

  uint64_t offered_bursts = 0;
  uint64_t shortened_bursts = 0;
  uint64_t sent = 0;
  uint64_t received = 0;

 private:
  // Sends the same frames again and again. References to spare keep the driver from freeing them. A
  // driver that lends buffers to its peer gives a reference back for each time that the frame stood
  // in its ring.
  void Send() {
    if (next_ + kBurst > frames_.size()) next_ = 0;
    rte_mbuf** burst = &frames_[next_];
    for (int i = 0; i < kBurst; ++i) rte_mbuf_refcnt_set(burst[i], kReferences);
    const uint16_t taken = rte_eth_tx_burst(send_, 0, burst, kBurst);
    ++offered_bursts;
    if (taken < kBurst) ++shortened_bursts;
    sent += taken;
    next_ += kBurst;
  }

  bool Receive() {
    rte_mbuf* burst[kBurst];
    const uint16_t count = rte_eth_rx_burst(receive_, 0, burst, kBurst);
    if (count == 0) return false;
    received += count;
    rte_pktmbuf_free_bulk(burst, count);
    return true;
  }

  const uint16_t send_;
  const uint16_t receive_;
  std::vector<rte_mbuf*> frames_;
  size_t next_ = 0;
};

struct Devices {
  std::unique_ptr<Ethdev> send;
  std::unique_ptr<Ethdev> receive;
};

// Call it once only. A DPDK 22.11 peer whose memif client comes and goes can panic (its interrupt
// thread adds a descriptor that is closed already), so the device under test must be up before this
// call.
absl::StatusOr<Devices> Connect(const BenchLoadOptions& options, rte_mempool* pool) {
  const auto open = [&](const char* field, const std::string& device) {
    return Ethdev::Open({.field = field,
                         .device = device,
                         .queue_pairs = 1,
                         .max_frame_bytes = 1518,
                         .pool = pool,
                         .edge = {}});
  };
  auto send = open("send", options.send_device);
  if (!send.ok()) return send.status();
  auto receive = open("receive", options.receive_device);
  if (!receive.ok()) return receive.status();
  const uint64_t deadline = rte_rdtsc() + TscOf(options.link_deadline_seconds);
  while (!(*send)->link_up() || !(*receive)->link_up()) {
    if (rte_rdtsc() > deadline) {
      return absl::UnavailableError("the device under test did not connect its ports");
    }
    usleep(10'000);
  }
  return Devices{.send = *std::move(send), .receive = *std::move(receive)};
}

void Report(int report, const void* bytes, size_t size) {
  if (write(report, bytes, size) != static_cast<ssize_t>(size)) _exit(1);
}

}  // namespace

absl::Status RunBenchLoad(const BenchLoadOptions& options, int report) {
  FabricConfig sizes;
  sizes.mbufs = kMbufs;
  auto pool = MakeFramePool("bench_load", sizes);
  if (!pool.ok()) return pool.status();
  auto devices = Connect(options, pool->get());
  if (!devices.ok()) return devices.status();
  std::vector<rte_mbuf*> frames;
  const size_t count = std::max<size_t>(options.frames.size(), kBurst);
  for (size_t i = 0; i < count; ++i) {
    const std::vector<uint8_t>& bytes = options.frames[i % options.frames.size()];
    rte_mbuf* frame = rte_pktmbuf_alloc(pool->get());
    if (frame == nullptr) return absl::ResourceExhaustedError("no buffer for a frame");
    std::copy(bytes.begin(), bytes.end(),
              rte_pktmbuf_append(frame, static_cast<uint16_t>(bytes.size())));
    frames.push_back(frame);
  }
  Load load(devices->send->id(), devices->receive->id(), std::move(frames));
  load.RunUntil(rte_rdtsc() + TscOf(options.warm_up_seconds));
  BenchLoadResult result{.seconds = 0,
                         .offered_bursts = load.offered_bursts,
                         .shortened_bursts = load.shortened_bursts,
                         .sent = load.sent,
                         .received = load.received,
                         .sent_in_all = 0,
                         .received_in_all = 0};
  Report(report, "b", 1);
  const uint64_t begin = rte_rdtsc();
  load.RunUntil(begin + TscOf(options.seconds));
  result.seconds = static_cast<double>(rte_rdtsc() - begin) / static_cast<double>(rte_get_tsc_hz());
  result.offered_bursts = load.offered_bursts - result.offered_bursts;
  result.shortened_bursts = load.shortened_bursts - result.shortened_bursts;
  result.sent = load.sent - result.sent;
  result.received = load.received - result.received;
  Report(report, "e", 1);
  load.Drain();
  result.sent_in_all = load.sent;
  result.received_in_all = load.received;
  Report(report, &result, sizeof(result));
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
