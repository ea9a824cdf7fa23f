// SPDX-License-Identifier: Apache-2.0
// A memif client (version 2.0 of the protocol, as DPDK and VPP speak it) without a driver.
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/load_port.h"
#include "dataplane/bench/shared_rings.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kMemifCookie = 0x3E31F20;
constexpr uint16_t kMemifVersion = 0x200;
constexpr uint16_t kRingToServer = 1;  // a flag of AddRing
constexpr uint16_t kNoInterrupts = 1;  // a flag of a ring
constexpr uint32_t kBufferBytes = kLoadBufferBytes;
constexpr uint8_t kLogRing = 10;
static_assert(1u << kLogRing == kLoadRing);

enum class MemifType : uint16_t {
  kAck = 1,
  kHello = 2,
  kInit = 3,
  kAddRegion = 4,
  kAddRing = 5,
  kConnect = 6,
  kConnected = 7,
};

struct [[gnu::packed]] MemifInit {
  uint16_t version;
  uint32_t id;
  uint8_t mode;  // 0: Ethernet
  char secret[24];
  char name[32];
};
struct [[gnu::packed]] MemifAddRegion {
  uint16_t index;
  uint64_t bytes;
};
struct [[gnu::packed]] MemifAddRing {
  uint16_t flags;
  uint16_t index;
  uint16_t region;
  uint32_t offset;
  uint8_t log2_places;
  uint16_t private_header_bytes;
};

struct [[gnu::packed]] MemifMessage {
  MemifType type;
  union {
    MemifInit init;
    MemifAddRegion add_region;
    MemifAddRing add_ring;
    char bytes[126];
  };
};
static_assert(sizeof(MemifMessage) == 128);

struct MemifPlace {
  uint16_t flags;
  uint16_t region;
  uint32_t length;
  uint32_t offset;  // the offset of the buffer in the region
  uint32_t metadata;
};

// `head` is the client's, and `tail` the server's, in both directions.
struct MemifRing {
  uint32_t cookie;
  uint16_t flags;
  std::atomic<uint16_t> head;
  alignas(64) std::atomic<uint16_t> tail;
  alignas(64) MemifPlace places[kLoadRing];
};
static_assert(sizeof(MemifRing) == 128 + 16 * kLoadRing);

constexpr size_t kMemifBytes = 2 * sizeof(MemifRing) + 2 * size_t{kLoadRing} * kBufferBytes;

class MemifLoadPort final : public LoadPort {
 public:
  MemifLoadPort(std::unique_ptr<SharedMemory> memory, const Frames& frames)
      : memory_(std::move(memory)), frame_bytes_(frames.front().size()) {
    LayOut(frames);
  }

  LoadLook Offer() override {
    const uint16_t taken = to_server().tail.load(std::memory_order_acquire);
    const auto moved = static_cast<uint16_t>(taken - taken_);
    for (uint16_t i = taken_; i != taken; ++i) Number(Buffer(to_server(), i), frame_bytes_);
    taken_ = taken;
    to_server().head.store(static_cast<uint16_t>(taken + kLoadRing), std::memory_order_release);
    return {.moved = moved, .left = kLoadRing - moved};
  }

  LoadLook Collect() override {
    const uint16_t sent = to_client().tail.load(std::memory_order_acquire);
    const auto moved = static_cast<uint16_t>(sent - sent_);
    for (uint16_t i = sent_; i != sent; ++i) Look(Buffer(to_client(), i));
    sent_ = sent;
    to_client().head.store(static_cast<uint16_t>(sent + kLoadRing), std::memory_order_release);
    return {.moved = moved, .left = kLoadRing - moved};
  }

  uint32_t TakeAsDevice(uint32_t most) override { return UseAsDevice(to_server(), most); }
  uint32_t SendAsDevice(uint32_t most) override { return UseAsDevice(to_client(), most); }

  absl::Status Connect(const std::string& socket, double seconds) override {
    auto peer = PeerSocket::Connect(socket, SOCK_SEQPACKET, seconds);
    if (!peer.ok()) return peer.status();
    socket_ = *std::move(peer);
    MemifMessage message;
    if (absl::Status s = Expect(MemifType::kHello); !s.ok()) return s;
    message = {.type = MemifType::kInit, .bytes = {}};
    message.init = {.version = kMemifVersion, .id = 0, .mode = 0, .secret = {}, .name = "bfly"};
    if (absl::Status s = Ask(message, -1, MemifType::kAck); !s.ok()) return s;
    message = {.type = MemifType::kAddRegion, .bytes = {}};
    message.add_region = {.index = 0, .bytes = memory_->bytes()};
    if (absl::Status s = Ask(message, memory_->fd(), MemifType::kAck); !s.ok()) return s;
    for (const uint16_t flags : {kRingToServer, uint16_t{0}}) {
      // The server wants a descriptor for interrupts with each ring, and takes a copy of it.
      const int interrupt = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      message = {.type = MemifType::kAddRing, .bytes = {}};
      message.add_ring = {
          .flags = flags,
          .index = 0,
          .region = 0,
          .offset = flags == kRingToServer ? 0 : static_cast<uint32_t>(sizeof(MemifRing)),
          .log2_places = kLogRing,
          .private_header_bytes = 0};
      const absl::Status status = Ask(message, interrupt, MemifType::kAck);
      close(interrupt);
      if (!status.ok()) return status;
    }
    message = {.type = MemifType::kConnect, .bytes = {}};
    return Ask(message, -1, MemifType::kConnected);
  }

 private:
  MemifRing& to_server() const { return *reinterpret_cast<MemifRing*>(memory_->at(0)); }
  MemifRing& to_client() const {
    return *reinterpret_cast<MemifRing*>(memory_->at(sizeof(MemifRing)));
  }
  std::byte* Buffer(const MemifRing& ring, uint16_t place) const {
    return memory_->at(ring.places[place % kLoadRing].offset);
  }

  static uint32_t UseAsDevice(MemifRing& ring, uint32_t most) {
    const uint16_t tail = ring.tail.load(std::memory_order_relaxed);
    const uint32_t offered =
        static_cast<uint16_t>(ring.head.load(std::memory_order_acquire) - tail);
    const uint32_t used = std::min(most, offered);
    if (used > 0) ring.tail.store(static_cast<uint16_t>(tail + used), std::memory_order_release);
    return used;
  }

  // Nothing is offered yet: the server sets all positions back when it connects.
  void LayOut(const Frames& frames) {
    for (MemifRing* ring : {&to_server(), &to_client()}) {
      ring->cookie = kMemifCookie;
      ring->flags = kNoInterrupts;
      const size_t buffers =
          2 * sizeof(MemifRing) + (ring == &to_client() ? size_t{kLoadRing} * kBufferBytes : 0);
      for (uint32_t i = 0; i < kLoadRing; ++i) {
        const auto& frame = frames[i % frames.size()];
        ring->places[i] = {.flags = 0,
                           .region = 0,
                           .length = static_cast<uint32_t>(frame.size()),
                           .offset = static_cast<uint32_t>(buffers + i * kBufferBytes),
                           .metadata = 0};
        std::memcpy(Buffer(*ring, static_cast<uint16_t>(i)), frame.data(), frame.size());
      }
    }
  }

  absl::Status Ask(const MemifMessage& message, int with, MemifType answer) {
    if (absl::Status s = socket_->Send(&message, sizeof(message), with); !s.ok()) return s;
    return Expect(answer);
  }

  absl::Status Expect(MemifType type) {
    MemifMessage message;
    if (absl::Status s = socket_->Receive(&message, sizeof(message)); !s.ok()) return s;
    const MemifType got = message.type;
    if (got == type) return absl::OkStatus();
    return absl::UnavailableError(absl::StrCat("the memif server answered with a message of type ",
                                               static_cast<int>(got), " in place of ",
                                               static_cast<int>(type)));
  }

  const std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<PeerSocket> socket_;
  const size_t frame_bytes_;
  uint16_t taken_ = 0;  // how many of the offered frames the server took
  uint16_t sent_ = 0;   // how many frames the server sent
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadPort>> MakeMemifLoad(const Frames& frames) {
  auto memory = SharedMemory::Make(kMemifBytes);
  if (!memory.ok()) return memory.status();
  return std::make_unique<MemifLoadPort>(*std::move(memory), frames);
}

}  // namespace bfly::dataplane
