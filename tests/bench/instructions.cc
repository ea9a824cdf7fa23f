// SPDX-License-Identifier: Apache-2.0
// What instructions.py counts under callgrind: hops and frames without EAL, without a device and
// without a clock, so that every run executes the same instructions.
//
// Each case makes its passes twice, fewer and more of them, and has callgrind write what it counted
// in each. What the case itself does (it draws packets, and it is host and device) is not counted.
// The program prints how many units (hops, frames, passes) each part had.
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <valgrind/callgrind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dataplane/core/inlet.h"
#include "dataplane/core/route_table.h"
#include "dataplane/fabric/worker.h"
#include "dataplane/frames/frame.h"
#include "dataplane/links/shape_table.h"
#include "dataplane/ports/egress.h"
#include "dataplane/ports/host_inlet.h"
#include "dataplane/stages/fused_stages.h"
#include "dataplane/stages/packet_store.h"
#include "dataplane/stages/plan.h"
#include "dataplane/stages/segment.h"
#include "tests/packet/frame_bytes.h"
#include "topologies/random.h"
#include "topologies/tag.h"

namespace bfly::dataplane {
namespace {

constexpr int kWarmUpPasses = 20;
constexpr int kFewPasses = 20;
constexpr int kManyPasses = 60;
constexpr uint16_t kFrameBytes = 60;
// The clock of timed links, which the case moves on by itself: 20 us a pass, which is 12.8 million
// packets a second.
constexpr double kTicksPerSecond = 2e9;
constexpr uint64_t kTicksPerPass = 40'000;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "instructions: %s\n", what);
  std::exit(1);
}

bool counting = false;

// Counts what `body` does.
template <typename Body>
void Counted(const Body& body) {
  counting = true;
  CALLGRIND_TOGGLE_COLLECT;
  body();
  CALLGRIND_TOGGLE_COLLECT;
  counting = false;
}

// While it lives, what runs does not count: it is a part of the case inside of what is counted.
class NotCounted {
 public:
  NotCounted() {
    if (counting) CALLGRIND_TOGGLE_COLLECT;
  }
  ~NotCounted() {
    if (counting) CALLGRIND_TOGGLE_COLLECT;
  }
};

void CountPart(const std::string& name, int passes, const std::function<uint64_t()>& pass) {
  uint64_t units = 0;
  for (int i = 0; i < passes; ++i) units += pass();
  CALLGRIND_DUMP_STATS_AT(name.c_str());
  std::printf("%s %lu\n", name.c_str(), units);
}

// `pass` returns how many units it made of what the case counts.
void CountCase(const std::string& name, const std::function<uint64_t()>& pass) {
  for (int i = 0; i < kWarmUpPasses; ++i) pass();
  CALLGRIND_ZERO_STATS;
  CountPart(name + " few", kFewPasses, pass);
  CountPart(name + " many", kManyPasses, pass);
}

// Gives a batch a pass. Packets go from drawn rows to drawn rows.
class DrawnInlet final : public Inlet {
 public:
  explicit DrawnInlet(const Network& network) {
    for (uint64_t i = 0; i < 4 * kBatch; ++i) {
      const uint64_t drawn = Random64(1, RandomStream::kTraffic, i);
      const Row input = static_cast<Row>(drawn % network.rows());
      const Row output = static_cast<Row>((drawn >> 32) % network.rows());
      packets_.push_back(
          {.tag = ToWire(GreedyTag(network, input, output), network.tag_layout().bits()),
           .mbuf = nullptr,
           .time = 0,
           .row = input,
           .bytes = kFrameBytes,
           .input = static_cast<uint16_t>(input)});
    }
  }

  // The next batch arrives in the pass that begins at `now`. Packets of a burst have one time, as
  // at a host port.
  void Refill(uint64_t now) {
    now_ = now;
    left_ = kBatch;
  }
  int Receive(Descriptor* burst, int room, Ledger& ledger) override {
    const NotCounted here;
    const int count = std::min(room, left_);
    for (int i = 0; i < count; ++i) {
      burst[i] = packets_[next_++ % packets_.size()];
      burst[i].time = now_;
    }
    now_ += kTicksPerPass / (kBatch / kBurst);
    left_ -= count;
    ledger.injected += static_cast<uint64_t>(count);
    return count;
  }

 private:
  std::vector<Descriptor> packets_;
  size_t next_ = 0;
  int left_ = 0;
  uint64_t now_ = 0;
};

class CountingSink final : public Outlet {
 public:
  int Send(const Descriptor* burst, int count, Ledger& ledger) override {
    const NotCounted here;
    for (int i = 0; i < count; ++i) {
      Require(burst[i].tag == kWireTagDone, "a packet left before its last hop");
    }
    packets_ += static_cast<uint64_t>(count);
    ledger.delivered += static_cast<uint64_t>(count);
    return count;
  }
  uint64_t packets() const { return packets_; }

 private:
  uint64_t packets_ = 0;
};

// All stages of a butterfly in one segment.
class Hops {
 public:
  enum class Way { kFused, kOneByOne, kTimed };

  // `shape`: of all links, if they take time.
  Hops(uint32_t rows, Way way, const LinkShape& shape = {})
      : network_(*Network::Make({.kind = NetworkKind::kButterfly, .rows = rows})),
        way_(way),
        inlet_(network_) {
    std::vector<Stage*> hops;
    for (int s = 0; s < network_.stages(); ++s) {
      hops.push_back(stages_.emplace_back(std::make_unique<Stage>(network_, s)).get());
      if (way_ == Way::kTimed) TakeTime(s, shape);
    }
    segment_ = std::make_unique<Segment>(hops);
    segment_->AddInlet(&inlet_, false);
    segment_->AddLane(Lane::ToEgress(&sink_));
    if (way_ != Way::kFused) return;
    const SegmentPlan all{.first_hop = 0, .hops = network_.hops()};
    for (const FusedPlan& run : PlanFused(network_, all, all.hops, MostFused(network_))) {
      const auto first = hops.begin() + run.first_hop;
      fused_.push_back(std::make_unique<FusedStages>(network_, run.first_hop,
                                                     std::vector<Stage*>(first, first + run.hops),
                                                     RowRange{0, network_.rows() - 1}));
      segment_->Fuse(static_cast<size_t>(run.first_hop), fused_.back().get());
    }
  }

  Segment& segment() { return *segment_; }

  // Returns the hops of the packets that left in this pass.
  uint64_t Pass() {
    const uint64_t before = sink_.packets();
    inlet_.Refill(now_);
    Counted([this] {
      if (way_ == Way::kTimed) {
        segment_->OpenRoom();
        segment_->RunTimed(now_, account_, lateness_);
      } else {
        segment_->Run(account_);
      }
      segment_->Settle(account_);
    });
    now_ += kTicksPerPass;
    return (sink_.packets() - before) * static_cast<uint64_t>(network_.hops());
  }

 private:
  void TakeTime(int s, const LinkShape& shape) {
    const LinkPlan plan{.base = shape, .rules = {}};
    Stage& stage = *stages_.back();
    const ShapeTable& table = *tables_.emplace_back(
        std::make_unique<ShapeTable>(plan, s, network_.rows(), network_.ports(), kTicksPerSecond));
    timed_.push_back(std::make_unique<TimedLinks>(stage.links(), network_.link_index({s, 0, 0}),
                                                  &store_, &stage.cold(0), 1));
    stage.OfferShapes(&table, timed_.back().get());
    stage.AdoptShapes(now_);
  }

  const Network network_;
  const Way way_;
  uint64_t now_ = uint64_t{1} << 40;
  DrawnInlet inlet_;
  CountingSink sink_;
  PacketStore store_{size_t{1} << 20};
  std::vector<std::unique_ptr<ShapeTable>> tables_;
  std::vector<std::unique_ptr<Stage>> stages_;
  std::vector<std::unique_ptr<TimedLinks>> timed_;
  std::vector<std::unique_ptr<FusedStages>> fused_;
  std::unique_ptr<Segment> segment_;
  Account account_;
  LatenessMeter lateness_;
};

// A device without EAL: DPDK's inline functions find it in rte_eth_fp_ops. It always has a burst of
// plain frames from a host, and it takes all frames.
class PlainDevice {
 public:
  static constexpr uint16_t kPort = 0;

  // Frames for `output`.
  explicit PlainDevice(Row output)
      : frame_(Ethernet(RowAddress(output), Hex("52 54 00 12 34 56"), 0x0800,
                        Ipv4(Ip(192, 0, 2, 1), Ip(192, 0, 2, 2), Zeros(kFrameBytes - 34)))),
        buffers_(kBurst) {
    Require(frame_.size() == kFrameBytes, "a frame has the wrong length");
    for (Buffer& buffer : buffers_) {
      buffer.mbuf.buf_addr = buffer.bytes;
      buffer.mbuf.data_off = 0;
      buffer.mbuf.nb_segs = 1;
      buffer.mbuf.data_len = kFrameBytes;
      buffer.mbuf.pkt_len = kFrameBytes;
    }
    auto& calls = rte_eth_fp_ops[kPort];
    calls.rx_pkt_burst = Receive;
    calls.rxq = {.data = queues_, .clbk = callbacks_};
    calls.tx_pkt_burst = Send;
    calls.txq = {.data = queues_, .clbk = callbacks_};
    gate_.Open(kPort);
  }

  const DeviceGate* gate() const { return &gate_; }

 private:
  struct Buffer {
    rte_mbuf mbuf = {};
    uint8_t bytes[64] = {};
  };

  static uint16_t Receive(void* device, rte_mbuf** frames, uint16_t room) {
    const NotCounted here;
    auto& self = *static_cast<PlainDevice*>(device);
    const auto count = static_cast<uint16_t>(std::min<size_t>(room, self.buffers_.size()));
    for (uint16_t i = 0; i < count; ++i) {
      Buffer& buffer = self.buffers_[i];
      std::memcpy(buffer.bytes, self.frame_.data(), self.frame_.size());
      frames[i] = &buffer.mbuf;
    }
    return count;
  }
  static uint16_t Send(void*, rte_mbuf**, uint16_t count) {
    const NotCounted here;
    return count;
  }

  const Bytes frame_;
  std::vector<Buffer> buffers_;
  DeviceGate gate_;
  void* queues_[1] = {this};
  void* callbacks_[1] = {};
};

// Two host ports of one row each. Frames come from the host of the one and go to the host of the
// other.
class Edge {
 public:
  Edge() : network_(*Network::Make({.kind = NetworkKind::kButterfly, .rows = 64})) {
    learned_from_.until_known = learned_to_.until_known = kBroadcastMac;
    learned_to_.Learn(0xee0b0b0b0b0b);
    inlet_ =
        std::make_unique<HostInlet>(HostInletConfig{.gate = device_.gate(),
                                                    .rules = MakeFrameRules(network_, {}, 1518),
                                                    .routes = &routes_,
                                                    .rows = {kInput},
                                                    .flood = &rows_,
                                                    .learned = &learned_from_});
    transmitter_ = std::make_unique<HostTransmitter>(device_.gate(), 0, &learned_to_);
    egress_.Attach({kOutput}, transmitter_.get());
  }

  // A burst comes in: it is parsed and routed, and an account is kept of it. Returns its frames.
  uint64_t Receive() {
    Counted([this] { count_ = inlet_->Receive(burst_, kBurst, ledger_); });
    Require(count_ == kBurst, "a frame did not come in");
    for (const Descriptor& packet : burst_) {
      Require(packet.tag == ToWire(GreedyTag(network_, kInput, kOutput), network_.hops()),
              "a frame got another route");
    }
    return kBurst;
  }

  // A burst that crossed the fabric leaves. Returns its frames.
  uint64_t Send() {
    Require(inlet_->Receive(burst_, kBurst, ledger_) == kBurst, "a frame did not come in");
    for (Descriptor& packet : burst_) packet.row = kOutput;
    const uint64_t before = ledger_.delivered;
    Counted([this] {
      egress_.Send(burst_, kBurst, ledger_);
      egress_.Flush(ledger_);
    });
    Require(ledger_.delivered == before + kBurst, "a frame did not leave");
    return kBurst;
  }

 private:
  static constexpr Row kInput = 3;
  static constexpr Row kOutput = 12;

  const Network network_;
  const RouteTable routes_{network_, WithoutCircuit::kBestEffort};
  const std::vector<Row> rows_ = {kInput, kOutput};
  PlainDevice device_{kOutput};
  LearnedMac learned_from_, learned_to_;
  std::unique_ptr<HostInlet> inlet_;
  std::unique_ptr<HostTransmitter> transmitter_;
  Egress egress_{64};
  Descriptor burst_[kBurst];
  int count_ = 0;
  Ledger ledger_;
};

// A worker whose only inlet has nothing.
class IdleWorker {
 public:
  IdleWorker() : hops_(64, Hops::Way::kFused) { worker_.AddSegment(&hops_.segment()); }
  uint64_t Pass() {
    bool moved = false;
    Counted([this, &moved] { moved = worker_.Pass(); });
    Require(!moved, "a pass without packets moved something");
    return 1;
  }

 private:
  Hops hops_;
  Worker worker_{0, IdleMode::kPoll};
};

void CountAll() {
  CALLGRIND_START_INSTRUMENTATION;
  Hops fused(1024, Hops::Way::kFused);
  CountCase("hop_fused", [&fused] { return fused.Pass(); });
  Hops one_by_one(1024, Hops::Way::kOneByOne);
  CountCase("hop_single", [&one_by_one] { return one_by_one.Pass(); });
  Hops timed(64, Hops::Way::kTimed, {.bits_per_second = 100'000'000'000});
  CountCase("hop_timed", [&timed] { return timed.Pass(); });
  Hops delayed(64, Hops::Way::kTimed, {.bits_per_second = 100'000'000'000, .delay_ns = 10'000});
  CountCase("hop_delayed", [&delayed] { return delayed.Pass(); });
  Hops queued(64, Hops::Way::kTimed, {.bits_per_second = 1'000'000'000, .queue_limit = 100});
  CountCase("hop_queued", [&queued] { return queued.Pass(); });
  Edge edge;
  CountCase("frame_in", [&edge] { return edge.Receive(); });
  CountCase("frame_out", [&edge] { return edge.Send(); });
  IdleWorker idle;
  CountCase("empty_pass", [&idle] { return idle.Pass(); });
  CALLGRIND_STOP_INSTRUMENTATION;
}

}  // namespace
}  // namespace bfly::dataplane

int main() { bfly::dataplane::CountAll(); }
