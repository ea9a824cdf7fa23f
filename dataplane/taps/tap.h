// SPDX-License-Identifier: Apache-2.0
// A tap: what is copied, and the copies. Workers write to a tap while one reader takes from it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/core/descriptor.h"
#include "dataplane/taps/tap_ring.h"
#include "topologies/network.h"
#include "topologies/tag.h"

namespace bfly::dataplane {

// The most taps of a data plane at a time, the most places and bytes of one tap, and the memory
// that the copies of a tap may take for each worker.
inline constexpr size_t kMostTaps = 8;
inline constexpr size_t kMostTapped = 1024;  // links, ports and paths together
inline constexpr uint32_t kMostSnaplen = 9018;
inline constexpr size_t kTapRingBytes = size_t{4} << 20;

struct TapConfig {
  // Every frame that comes to the link, before the link's queue. Links of stages that other data
  // planes run are ignored.
  std::vector<LinkId> links;
  // By name: every frame that a port brings into the fabric, and every frame that the fabric gives
  // to the port. Ports of other data planes are ignored.
  std::vector<std::string> ports;
  // At each link of the path from `input`, the frames that follow just this path.
  struct Path {
    Row input = 0;
    Tag tag = 0;
    bool end = false;  // also where the path ends, at a port or in a sink
  };
  std::vector<Path> paths;
  uint32_t snaplen = 256;  // 1..kMostSnaplen: a copy has this many of the frame's first bytes
  uint32_t every = 1;      // 1 and up: each worker copies the first of this many frames
};

struct TapCounts {
  uint64_t seen = 0;     // frames at the tapped places
  uint64_t copied = 0;   // copies that a reader has or will get
  uint64_t dropped = 0;  // copies for which the reader's ring had no room
};

struct TapRule;

// What one worker writes to a tap.
class TapWriter {
 public:
  TapWriter(uint32_t slots, uint32_t snaplen, uint32_t every)
      : every_(every), ring_(slots, snaplen) {}

  // Worker: notes that `packet` is at the place of `rule`, before it goes on.
  void Note(const Descriptor& packet, const TapRule& rule);

  TapRing& ring() { return ring_; }
  const TapRing& ring() const { return ring_; }
  uint64_t seen() const { return seen_.load(std::memory_order_relaxed); }

 private:
  const uint32_t every_;
  uint32_t passed_ = 0;            // worker: frames since the last copy
  std::atomic<uint64_t> seen_{0};  // worker: writes, readers: relaxed loads
  TapRing ring_;
};

class Tap {
 public:
  Tap(const TapConfig& config, size_t workers);

  const TapConfig& config() const { return config_; }
  TapWriter& writer(size_t worker) { return *writers_[worker]; }

  // Reader, one thread at a time: calls visit(frame, bytes) for at most `most` copies, in order for
  // each worker. Returns their number. Copies that are made during the call are left for the next
  // call, so that the copies of a frame that goes from worker to worker come in the order of its
  // way. Each call begins at another worker. So a worker that always has more than `most` copies
  // cannot keep the copies of the others back.
  template <typename Visit>
  uint32_t Take(uint32_t most, const Visit& visit) {
    const uint64_t now = Now();
    uint32_t count = 0;
    for (size_t i = 0; i < writers_.size(); ++i) {
      const size_t worker = (first_ + i) % writers_.size();
      count += writers_[worker]->ring().Take(most - count, now, visit);
    }
    if (++first_ >= writers_.size()) first_ = 0;
    return count;
  }
  // Any thread.
  TapCounts counts() const;

  // How many places of this data plane the tap looks at.
  size_t places() const { return places_.load(std::memory_order_relaxed); }
  void SetPlaces(size_t places) { places_.store(places, std::memory_order_relaxed); }
  // Whether the fabric was unloaded. No copy is made after that.
  bool over() const { return over_.load(std::memory_order_acquire); }
  void End() { over_.store(true, std::memory_order_release); }

 private:
  static uint64_t Now();  // TSC

  const TapConfig config_;
  std::vector<std::unique_ptr<TapWriter>> writers_;  // one for each worker
  size_t first_ = 0;                                 // reader: where the next Take begins
  std::atomic<size_t> places_{0};                    // control: writes, readers: relaxed loads
  std::atomic<bool> over_{false};                    // control: writes, readers: acquire loads
};

// The taps of a loaded fabric. Thread-safe.
class Taps {
 public:
  virtual ~Taps() = default;
  // Starts a tap. When it has returned, the workers copy the frames that come to the places of the
  // config. InvalidArgument names every wrong field. ResourceExhausted: there are kMostTaps taps.
  // DeadlineExceeded: a worker made no pass for two seconds; then there is no tap.
  virtual absl::StatusOr<std::shared_ptr<Tap>> Start(const TapConfig& config) = 0;
  // Ends a tap. The reader may still take its copies.
  virtual void Stop(const std::shared_ptr<Tap>& tap) = 0;
};

}  // namespace bfly::dataplane
