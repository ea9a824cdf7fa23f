// SPDX-License-Identifier: Apache-2.0
// The cable of a trunk, with the test in the middle of it: frames go through a thread that asks
// what is to become of each.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_eth_ring.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "tests/packet/ring_port.h"

namespace bfly::dataplane {

class TrunkCable {
 public:
  enum class Fate {
    kPass,
    kDrop,
    kTwice,
    kLater,  // it lets the next frame pass first
    kCut,    // it and all that follow are lost
  };
  // Of the n-th frame that goes forward, or back, since Treat.
  using Treatment = std::function<Fate(bool back, int number)>;

  TrunkCable() {
    for (End& end : ends_) {
      end.out = MakeRing();
      end.in = MakeRing();
      EXPECT_GE(rte_eth_from_rings(end.name.c_str(), &end.in, 1, &end.out, 1, 0), 0);
    }
    Treat({});
    thread_ = std::thread([this] { Carry(); });
  }
  // After the fabrics are unloaded and before they are gone, because the frames are theirs.
  void Empty() {
    if (!thread_.joinable()) return;
    stop_ = true;
    thread_.join();
    for (End& end : ends_) {
      Free(end.in);
      Free(end.out);
      rte_pktmbuf_free(std::exchange(end.late, nullptr));
    }
  }
  ~TrunkCable() {
    Empty();
    for (End& end : ends_) {
      rte_vdev_uninit(device(static_cast<int>(&end - ends_)).c_str());
      rte_ring_free(end.in);
      rte_ring_free(end.out);
    }
  }

  // 0 sends data, 1 receives it.
  std::string device(int end) const { return "net_ring_" + ends_[end].name; }

  void Treat(Treatment treatment) {
    const std::lock_guard lock(mutex_);
    treatment_ = std::move(treatment);
    cut_ = false;
    for (End& end : ends_) end.frames = 0;
  }
  // Frames that went forward or back since.
  int frames(bool back) {
    const std::lock_guard lock(mutex_);
    return ends_[back ? 1 : 0].frames;
  }
  // A frame that nobody in the fabric sent comes to an end.
  void Forge(int end, rte_mbuf* frame) { EXPECT_EQ(rte_ring_enqueue(ends_[end].in, frame), 0); }

 private:
  struct End {
    std::string name = UniqueName("cable_end");
    rte_ring* out = nullptr;  // what its device sends
    rte_ring* in = nullptr;   // what its device receives
    rte_mbuf* late = nullptr;
    int frames = 0;  // that it sent
  };

  static rte_ring* MakeRing() {
    rte_ring* ring = rte_ring_create(UniqueName("cable").c_str(), 4096, SOCKET_ID_ANY, 0);
    EXPECT_NE(ring, nullptr);
    return ring;
  }
  static void Free(rte_ring* ring) {
    void* frame;
    while (rte_ring_dequeue(ring, &frame) == 0) rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }

  void Carry() {
    while (!stop_) {
      bool idle = true;
      for (int from = 0; from < 2; ++from) {
        void* frame;
        // A frame may take the place of three.
        if (rte_ring_free_count(ends_[1 - from].in) < 3) continue;
        if (rte_ring_dequeue(ends_[from].out, &frame) != 0) continue;
        idle = false;
        const std::lock_guard lock(mutex_);
        Pass(from, static_cast<rte_mbuf*>(frame));
      }
      if (idle) std::this_thread::yield();
    }
  }

  void Pass(int from, rte_mbuf* frame) {
    End& sender = ends_[from];
    rte_ring* const to = ends_[1 - from].in;
    Fate fate = treatment_ ? treatment_(from == 1, sender.frames) : Fate::kPass;
    ++sender.frames;
    cut_ = cut_ || fate == Fate::kCut;
    if (cut_ || fate == Fate::kDrop) return rte_pktmbuf_free(frame);
    if (fate == Fate::kLater && sender.late == nullptr) {
      sender.late = frame;
      return;
    }
    if (fate == Fate::kTwice) {
      rte_mbuf* copy = rte_pktmbuf_copy(frame, frame->pool, 0, UINT32_MAX);
      ASSERT_NE(copy, nullptr);
      ASSERT_EQ(rte_ring_enqueue(to, copy), 0);
    }
    ASSERT_EQ(rte_ring_enqueue(to, frame), 0);
    if (sender.late != nullptr) {
      ASSERT_EQ(rte_ring_enqueue(to, std::exchange(sender.late, nullptr)), 0);
    }
  }

  std::mutex mutex_;
  Treatment treatment_;  // mutex_
  bool cut_ = false;     // mutex_
  End ends_[2];
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace bfly::dataplane
