// SPDX-License-Identifier: Apache-2.0
// The load's end of a port: memory that it shares with the device under test. A load port has no
// driver and copies nothing. Its frames stay where they are, and it moves the positions of two
// rings, so it costs less than any device that copies frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "dataplane/bench/bench_frames.h"
#include "dataplane/frames/mac_address.h"

namespace bfly::dataplane {

// The places of a ring of a load port. Each place keeps its frame.
inline constexpr uint32_t kLoadRing = 1024;
// The distance of the buffers, which is that of DPDK's default buffers. With a power of two, all
// buffers would fall into a few sets of the caches.
inline constexpr uint32_t kLoadBufferBytes = 2304;

// What the load finds at one of its rings.
struct LoadLook {
  // Frames that the device took, or sent, since the last look. Always 0 at a port that cannot see
  // how many the device took.
  uint32_t moved = 0;
  uint32_t left = 0;  // places that the device could still use when the load looked
};

class LoadPort {
 public:
  LoadPort() = default;
  virtual ~LoadPort() = default;
  LoadPort(const LoadPort&) = delete;
  LoadPort& operator=(const LoadPort&) = delete;

  // Connects to the device under test, which listens on `socket`. Unavailable: it did not do its
  // part within `seconds`.
  virtual absl::Status Connect(const std::string& socket, double seconds) = 0;
  // Writes a new number into every frame that the device took, and offers the frame again.
  virtual LoadLook Offer() = 0;
  // Looks at the destination of every frame that the device sent, and gives the place back.
  virtual LoadLook Collect() = 0;
  // These two play a device that copies nothing, on the other side of the shared memory.
  // TakeAsDevice takes up to `most` of the offered frames, and SendAsDevice sends up to `most`
  // frames. Both return the number of frames, which is 0 at a port without shared memory.
  virtual uint32_t TakeAsDevice(uint32_t most) = 0;
  virtual uint32_t SendAsDevice(uint32_t most) = 0;

  // The frames that the device sent and that are not for a row.
  uint64_t strange() const { return strange_; }

 protected:
  // A running number stands in the last four bytes.
  void Number(std::byte* frame, size_t bytes) {
    ++number_;
    std::memcpy(frame + bytes - sizeof(number_), &number_, sizeof(number_));
  }
  void Look(const std::byte* frame) {
    if (!IsRowMac(LoadMac(reinterpret_cast<const uint8_t*>(frame)))) CountStrange(1);
  }
  void CountStrange(uint64_t frames) { strange_ += frames; }

 private:
  uint32_t number_ = 0;
  uint64_t strange_ = 0;
};

// The two ends of the load: frames go into `in` and come out of `out`.
struct LoadPorts {
  std::unique_ptr<LoadPort> in;
  std::unique_ptr<LoadPort> out;
};

// Makes a memif client, or a front end of vhost-user. All frames have the same length.
absl::StatusOr<std::unique_ptr<LoadPort>> MakeMemifLoad(const Frames& frames);
absl::StatusOr<std::unique_ptr<LoadPort>> MakeVhostLoad(const Frames& frames);

}  // namespace bfly::dataplane
