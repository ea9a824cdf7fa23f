// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/xdp_load.h"

#include <bpf/bpf.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/bench/xdp_programs.h"
#include "dataplane/runtime/owned_fd.h"

namespace bfly::dataplane {
namespace {

constexpr double kVethSeconds = 10;
// The kernel pauses for 20 ms between two runs of frames, so one run lasts as long as the load.
constexpr int kFramesPerRun = 1 << 30;
constexpr uint32_t kFramesPerBatch = 64;
constexpr double kSecondsPerLook = 0.004;
constexpr int kMostBeginLooks = 1000;
constexpr double kSecondsPerInterrupt = 0.001;
// If fewer than this part of the offered frames came back, frames were lost at the full entrance of
// the device.
constexpr double kMostReturned = 1 / 1.2;
// At least this many frames wait at the entrance of net_af_xdp when it is full. Its default is
// 2,048.
constexpr double kLeastEntrance = 512;
// If fewer frames were offered, all that did not come back may be on their way.
constexpr double kLeastOffered = 4096;

absl::Status XdpFailed(const std::string& what, int error) {
  return absl::UnavailableError(absl::StrCat("ports: af_xdp: ", what, ": ", strerror(error)));
}

absl::StatusOr<OwnedFd> LoadProgram(const std::vector<bpf_insn>& code) {
  OwnedFd program(bpf_prog_load(BPF_PROG_TYPE_XDP, "bfly_load", "Dual BSD/GPL", code.data(),
                                code.size(), nullptr));
  if (program) return program;
  return XdpFailed("the kernel refuses an XDP program", errno);
}

// The memory, the programs, and the attachment of the second one. Both ends of the load use it.
class XdpTraffic {
 public:
  static absl::StatusOr<std::shared_ptr<XdpTraffic>> Start(const Frames& frames,
                                                           const char* sink_interface) {
    auto traffic = std::make_shared<XdpTraffic>();
    LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
    traffic->map_ = OwnedFd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "bfly_load", sizeof(uint32_t),
                                           sizeof(XdpShared), 1, &options));
    if (!traffic->map_) return XdpFailed("no map for XDP programs", errno);
    void* const shared = mmap(nullptr, sizeof(XdpShared), PROT_READ | PROT_WRITE, MAP_SHARED,
                              traffic->map_.get(), 0);
    if (shared == MAP_FAILED) return XdpFailed("no map for XDP programs", errno);
    traffic->shared_ = static_cast<XdpShared*>(shared);
    for (uint32_t i = 0; i < kAddressPairs; ++i) {
      std::copy_n(frames[i % frames.size()].begin(), 12, traffic->shared_->addresses[i]);
    }
    traffic->frame_ = frames.front();
    const int load = static_cast<int>(if_nametoindex("load0"));
    const int sink = static_cast<int>(if_nametoindex(sink_interface));
    auto program = LoadProgram(AddressAndRedirect(traffic->map_.get(), load));
    if (!program.ok()) return program.status();
    traffic->program_ = *std::move(program);
    auto counter = LoadProgram(CountAndDrop(traffic->map_.get()));
    if (!counter.ok()) return counter.status();
    traffic->link_ = OwnedFd(bpf_link_create(counter->get(), sink, BPF_XDP, nullptr));
    if (!traffic->link_)
      return XdpFailed(absl::StrCat("no XDP program at ", sink_interface), errno);
    return traffic;
  }

  XdpTraffic() = default;
  ~XdpTraffic() {
    stop_.store(true, std::memory_order_relaxed);
    while (sender_.joinable() && !stopped_.load(std::memory_order_acquire)) {
      pthread_kill(sender_.native_handle(), SIGUSR1);  // ends the run of frames
      PauseFor(kSecondsPerInterrupt);
    }
    if (sender_.joinable()) sender_.join();
    if (shared_ != nullptr) munmap(shared_, sizeof(XdpShared));
  }
  XdpTraffic(const XdpTraffic&) = delete;
  XdpTraffic& operator=(const XdpTraffic&) = delete;

  // Sends `count` frames, of which the device may take some. Returns errno.
  int Send(int count) const {
    LIBBPF_OPTS(bpf_test_run_opts, options, .data_in = frame_.data(),
                .data_size_in = static_cast<uint32_t>(frame_.size()), .repeat = count,
                .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = kFramesPerBatch);
    return bpf_prog_test_run_opts(program_.get(), &options) == 0 ? 0 : errno;
  }
  // A thread on the CPU of the calling one sends until this object is destroyed. Waits until it has
  // begun.
  void KeepSending() {
    if (sender_.joinable()) return;
    const uint64_t before = offered();
    struct sigaction interrupt {};
    interrupt.sa_handler = [](int) {};
    sigaction(SIGUSR1, &interrupt, nullptr);
    sender_ = std::thread([this] {
      YieldToLooks();
      while (!stop_.load(std::memory_order_relaxed)) Send(kFramesPerRun);
      stopped_.store(true, std::memory_order_release);
    });
    for (int i = 0; i < kMostBeginLooks && offered() == before; ++i) PauseFor(kSecondsPerLook);
  }

  uint64_t offered() const { return shared_->offered.load(std::memory_order_relaxed); }
  uint64_t arrived() const { return shared_->arrived.load(std::memory_order_relaxed); }
  uint64_t strange() const { return shared_->strange.load(std::memory_order_relaxed); }
  // Returns the longest time without an offered frame since the call before, in nanoseconds.
  uint64_t LongestPause() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    const uint64_t since_last = static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 +
                                static_cast<uint64_t>(now.tv_nsec) -
                                shared_->offered_at.load(std::memory_order_relaxed);
    return std::max(shared_->longest_pause.exchange(0, std::memory_order_relaxed), since_last);
  }

 private:
  // The looks of the load are short and share the CPU with the sender. A real-time thread gives way
  // only to a higher priority.
  static void YieldToLooks() {
    int policy;
    sched_param own;
    if (pthread_getschedparam(pthread_self(), &policy, &own) != 0) return;
    if (own.sched_priority <= sched_get_priority_min(policy)) return;
    --own.sched_priority;
    pthread_setschedparam(pthread_self(), policy, &own);
  }

  OwnedFd map_;
  OwnedFd program_;
  OwnedFd link_;  // the second program stays at its interface for as long as this is open
  XdpShared* shared_ = nullptr;
  std::vector<uint8_t> frame_;
  std::thread sender_;
  std::atomic<bool> stop_ = false;     // the thread of the load: writes, `sender_`: relaxed loads
  std::atomic<bool> stopped_ = false;  // `sender_`: writes, the thread of the load: acquire loads
};

class XdpSender final : public LoadPort {
 public:
  explicit XdpSender(std::shared_ptr<XdpTraffic> traffic) : traffic_(std::move(traffic)) {}

  // Tries whether this kernel can send.
  absl::Status Connect(const std::string&, double) override {
    const int error = traffic_->Send(1);
    return error == 0 ? absl::OkStatus() : XdpFailed("the kernel sends no frames", error);
  }
  // The kernel sends by itself, so a look only waits. It cannot see how many frames the device
  // took.
  LoadLook Offer() override {
    traffic_->KeepSending();
    PauseFor(kSecondsPerLook);
    const auto now = std::chrono::steady_clock::now();
    const uint64_t offered = traffic_->offered(), arrived = traffic_->arrived();
    const XdpLook look = {.seconds = std::chrono::duration<double>(now - looked_).count(),
                          .offered = offered - offered_,
                          .returned = arrived - arrived_,
                          .longest_pause = static_cast<double>(traffic_->LongestPause()) * 1e-9};
    offered_ = offered;
    arrived_ = arrived;
    looked_ = now;
    return {.moved = 0, .left = FramesWaited(look) ? kLoadRing : 0};
  }
  LoadLook Collect() override { return {}; }
  uint32_t TakeAsDevice(uint32_t) override { return 0; }
  uint32_t SendAsDevice(uint32_t) override { return 0; }

 private:
  const std::shared_ptr<XdpTraffic> traffic_;
  // The values at the last look.
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
  uint64_t offered_ = 0;
  uint64_t arrived_ = 0;
};

class XdpSink final : public LoadPort {
 public:
  explicit XdpSink(std::shared_ptr<XdpTraffic> traffic)
      : traffic_(std::move(traffic)), seen_(traffic_->arrived()) {}

  absl::Status Connect(const std::string&, double) override { return absl::OkStatus(); }
  LoadLook Offer() override { return {}; }
  // The program at the interface takes every frame as soon as it arrives.
  LoadLook Collect() override {
    const uint64_t strange = traffic_->strange();  // frames go on to arrive
    CountStrange(strange - seen_strange_);
    seen_strange_ = strange;
    const uint64_t arrived = traffic_->arrived();
    const auto moved = static_cast<uint32_t>(arrived - seen_);
    seen_ = arrived;
    return {.moved = moved, .left = kLoadRing};
  }
  uint32_t TakeAsDevice(uint32_t) override { return 0; }
  uint32_t SendAsDevice(uint32_t) override { return 0; }

 private:
  const std::shared_ptr<XdpTraffic> traffic_;
  uint64_t seen_;
  uint64_t seen_strange_ = 0;
};

}  // namespace

bool FramesWaited(const XdpLook& look) {
  const auto offered = static_cast<double>(look.offered);
  const auto returned = static_cast<double>(look.returned);
  return offered >= kLeastOffered && returned < kMostReturned * offered &&
         returned * look.longest_pause < kLeastEntrance / 2 * look.seconds;
}

absl::Status MakeVethPairs(const std::string& directory) {
  static const bool own_namespace = unshare(CLONE_NEWNET) == 0;
  if (!own_namespace) {
    return absl::UnavailableError(
        "ports: af_xdp needs a network namespace of its own, which only root can make");
  }
  // Otherwise the kernel sends frames of its own.
  std::ofstream("/proc/sys/net/ipv6/conf/default/disable_ipv6") << 1;
  const auto ip = [&directory](std::vector<std::string> words) {
    words.insert(words.begin(), "ip");
    return RunToEnd(words, directory + "/ip.log", kVethSeconds).status();
  };
  for (const int pair : {0, 1}) {
    const std::string device = absl::StrCat("device", pair), load = absl::StrCat("load", pair);
    // testpmd is killed in the end and leaves its XDP program, so each run gets new interfaces.
    absl::Status status;
    if (if_nametoindex(device.c_str()) != 0) status = ip({"link", "delete", device});
    // A port of one row gives its frames the address of the interface behind it. As that of a
    // tester, it is the row's.
    if (status.ok()) {
      status = ip({"link", "add", device, "type", "veth", "peer", "name", load, "address",
                   absl::StrFormat("02:bf:00:00:00:%02x", pair)});
    }
    for (const std::string& end : {device, load}) {
      if (status.ok()) status = ip({"link", "set", end, "up"});
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadPorts> MakeXdpLoad(const Frames& frames, bool alone) {
  auto traffic = XdpTraffic::Start(frames, alone ? "device0" : "load1");
  if (!traffic.ok()) return traffic.status();
  return LoadPorts{.in = std::make_unique<XdpSender>(*traffic),
                   .out = std::make_unique<XdpSink>(*traffic)};
}

}  // namespace bfly::dataplane
