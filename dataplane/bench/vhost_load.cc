// SPDX-License-Identifier: Apache-2.0
// A front end of vhost-user (QEMU, "Vhost-user Protocol") with a network card of virtio 1.2 and
// split virtqueues, without a driver.
#define VIRTIO_RING_NO_LEGACY  // its functions are C
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
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

enum class VhostRequest : uint32_t {
  kGetFeatures = 1,
  kSetFeatures = 2,
  kSetOwner = 3,
  kSetMemoryTable = 5,
  kSetRingPlaces = 8,
  kSetRingAddresses = 9,
  kSetRingBase = 10,
  kSetRingKick = 12,
  kSetRingCall = 13,
};

constexpr uint32_t kVhostVersion = 1;               // the flags of a request
constexpr uint64_t kMergeableBuffers = 1ull << 15;  // VIRTIO_NET_F_MRG_RXBUF
constexpr uint64_t kFeatures = 1ull << VIRTIO_F_VERSION_1 | kMergeableBuffers;
constexpr size_t kVirtioHeaderBytes = 12;  // in front of every frame, of zeros if nothing is asked
constexpr uint32_t kCardReceives = 0;      // virtqueues
constexpr uint32_t kCardSends = 1;
constexpr size_t kSlotBytes = kLoadBufferBytes;
constexpr size_t kFrameInSlot = 64;  // the header ends there

struct VhostRingState {
  uint32_t ring;
  uint32_t number;
};
struct VhostRingAddresses {
  uint32_t ring;
  uint32_t flags;
  uint64_t descriptors;
  uint64_t used;
  uint64_t available;
  uint64_t log;
};
struct VhostMemoryTable {
  uint32_t regions;
  uint32_t padding;
  uint64_t guest_address;
  uint64_t bytes;
  uint64_t user_address;
  uint64_t offset;
};

struct VhostMessage {
  VhostRequest request;
  uint32_t flags;
  uint32_t bytes;  // the length of the bytes that follow
  union [[gnu::packed]] {
    uint64_t number;
    VhostRingState state;
    VhostRingAddresses addresses;
    VhostMemoryTable memory;
  };
};
constexpr size_t kVhostHeaderBytes = 12;
static_assert(sizeof(VhostMessage) == kVhostHeaderBytes + sizeof(VhostRingAddresses));

struct AvailableRing {
  uint16_t flags;
  std::atomic<uint16_t> index;
  uint16_t ring[kLoadRing];
  uint16_t used_event;
};
struct UsedRing {
  uint16_t flags;
  std::atomic<uint16_t> index;
  vring_used_elem ring[kLoadRing];
  uint16_t available_event;
};

// One virtqueue and its buffers. The device uses the descriptors in the order in which they are
// offered, so place i of both rings always names descriptor i.
struct Virtqueue {
  alignas(64) vring_desc descriptors[kLoadRing];
  alignas(64) AvailableRing available;
  alignas(64) UsedRing used;
  alignas(4096) std::byte slots[kLoadRing][kSlotBytes];
};

class VhostLoadPort final : public LoadPort {
 public:
  VhostLoadPort(std::unique_ptr<SharedMemory> memory, const Frames& frames)
      : memory_(std::move(memory)), frame_bytes_(frames.front().size()) {
    LayOut(frames);
  }

  LoadLook Offer() override {
    Virtqueue& queue = Queue(kCardSends);
    const uint16_t taken = queue.used.index.load(std::memory_order_acquire);
    const auto moved = static_cast<uint16_t>(taken - taken_);
    for (uint16_t i = taken_; i != taken; ++i) Number(Frame(queue, i), frame_bytes_);
    taken_ = taken;
    queue.available.index.store(static_cast<uint16_t>(taken + kLoadRing),
                                std::memory_order_release);
    return {.moved = moved, .left = kLoadRing - moved};
  }

  LoadLook Collect() override {
    Virtqueue& queue = Queue(kCardReceives);
    const uint16_t sent = queue.used.index.load(std::memory_order_acquire);
    const auto moved = static_cast<uint16_t>(sent - sent_);
    for (uint16_t i = sent_; i != sent; ++i) Look(Frame(queue, i));
    sent_ = sent;
    queue.available.index.store(static_cast<uint16_t>(sent + kLoadRing), std::memory_order_release);
    return {.moved = moved, .left = kLoadRing - moved};
  }

  uint32_t TakeAsDevice(uint32_t most) override { return UseAsDevice(Queue(kCardSends), most); }
  uint32_t SendAsDevice(uint32_t most) override { return UseAsDevice(Queue(kCardReceives), most); }

  absl::Status Connect(const std::string& socket, double seconds) override {
    auto peer = PeerSocket::Connect(socket, SOCK_STREAM, seconds);
    if (!peer.ok()) return peer.status();
    socket_ = *std::move(peer);
    const absl::StatusOr<uint64_t> features = Features();
    if (!features.ok()) return features.status();
    if ((*features & kFeatures) != kFeatures) {
      return absl::UnavailableError("the vhost-user back end has no mergeable buffers of virtio 1");
    }
    const uint64_t base = Address(memory_->at(0));
    const VhostMemoryTable table = {.regions = 1,
                                    .padding = 0,
                                    .guest_address = base,
                                    .bytes = memory_->bytes(),
                                    .user_address = base,
                                    .offset = 0};
    absl::Status status = Tell(VhostRequest::kSetFeatures, &kFeatures, sizeof(kFeatures));
    if (status.ok()) status = Tell(VhostRequest::kSetOwner, nullptr, 0);
    if (status.ok()) {
      status = Tell(VhostRequest::kSetMemoryTable, &table, sizeof(table), memory_->fd());
    }
    for (const uint32_t ring : {kCardReceives, kCardSends}) {
      if (status.ok()) status = TellRing(ring);
    }
    // The back end answers in order, so when this answer comes it has done all of the above.
    return status.ok() ? Features().status() : status;
  }

 private:
  Virtqueue& Queue(uint32_t number) const {
    return reinterpret_cast<Virtqueue*>(memory_->at(0))[number];
  }
  static std::byte* Frame(Virtqueue& queue, uint16_t place) {
    return queue.slots[place % kLoadRing] + kFrameInSlot;
  }
  // What the back end takes as this process's and as the card's address.
  static uint64_t Address(const void* at) { return reinterpret_cast<uint64_t>(at); }

  static uint32_t UseAsDevice(Virtqueue& queue, uint32_t most) {
    const uint16_t used = queue.used.index.load(std::memory_order_relaxed);
    const uint32_t offered =
        static_cast<uint16_t>(queue.available.index.load(std::memory_order_acquire) - used);
    const uint32_t taken = std::min(most, offered);
    if (taken > 0)
      queue.used.index.store(static_cast<uint16_t>(used + taken), std::memory_order_release);
    return taken;
  }

  void LayOut(const Frames& frames) {
    for (const uint32_t number : {kCardReceives, kCardSends}) {
      Virtqueue& queue = Queue(number);
      queue.available.flags = VRING_AVAIL_F_NO_INTERRUPT;
      for (uint32_t i = 0; i < kLoadRing; ++i) {
        const auto& frame = frames[i % frames.size()];
        const bool sends = number == kCardSends;
        std::byte* const buffer = queue.slots[i] + kFrameInSlot - kVirtioHeaderBytes;
        queue.descriptors[i] = {
            .addr = Address(buffer),
            .len = static_cast<uint32_t>(sends ? kVirtioHeaderBytes + frame.size()
                                               : kSlotBytes - kFrameInSlot + kVirtioHeaderBytes),
            .flags = static_cast<uint16_t>(sends ? 0 : VRING_DESC_F_WRITE),
            .next = 0};
        queue.available.ring[i] = static_cast<uint16_t>(i);
        if (sends) std::memcpy(queue.slots[i] + kFrameInSlot, frame.data(), frame.size());
      }
    }
  }

  absl::StatusOr<uint64_t> Features() {
    if (absl::Status s = Tell(VhostRequest::kGetFeatures, nullptr, 0); !s.ok()) return s;
    VhostMessage answer{};
    if (absl::Status s = socket_->Receive(&answer, kVhostHeaderBytes + sizeof(answer.number));
        !s.ok()) {
      return s;
    }
    return uint64_t{answer.number};
  }

  absl::Status TellRing(uint32_t ring) {
    Virtqueue& queue = Queue(ring);
    const VhostRingState places = {.ring = ring, .number = kLoadRing};
    const VhostRingState begin = {.ring = ring, .number = 0};
    const VhostRingAddresses addresses = {.ring = ring,
                                          .flags = 0,
                                          .descriptors = Address(queue.descriptors),
                                          .used = Address(&queue.used),
                                          .available = Address(&queue.available),
                                          .log = 0};
    const uint64_t number = ring;
    for (const absl::Status& status :
         {Tell(VhostRequest::kSetRingPlaces, &places, sizeof(places)),
          Tell(VhostRequest::kSetRingBase, &begin, sizeof(begin)),
          Tell(VhostRequest::kSetRingAddresses, &addresses, sizeof(addresses))}) {
      if (!status.ok()) return status;
    }
    // The back end polls, but it starts no ring without descriptors for interrupts. It takes
    // copies.
    for (const VhostRequest request : {VhostRequest::kSetRingCall, VhostRequest::kSetRingKick}) {
      const int interrupt = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
      const absl::Status status = Tell(request, &number, sizeof(number), interrupt);
      close(interrupt);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status Tell(VhostRequest request, const void* content, size_t bytes, int with = -1) {
    VhostMessage message{};
    message.request = request;
    message.flags = kVhostVersion;
    message.bytes = static_cast<uint32_t>(bytes);
    if (bytes > 0) {
      std::memcpy(reinterpret_cast<std::byte*>(&message) + kVhostHeaderBytes, content, bytes);
    }
    return socket_->Send(&message, kVhostHeaderBytes + bytes, with);
  }

  const std::unique_ptr<SharedMemory> memory_;
  std::unique_ptr<PeerSocket> socket_;
  const size_t frame_bytes_;
  uint16_t taken_ = 0;  // how many of the offered frames the device took
  uint16_t sent_ = 0;   // how many frames the device sent
};

}  // namespace

absl::StatusOr<std::unique_ptr<LoadPort>> MakeVhostLoad(const Frames& frames) {
  auto memory = SharedMemory::Make(2 * sizeof(Virtqueue));
  if (!memory.ok()) return memory.status();
  return std::make_unique<VhostLoadPort>(*std::move(memory), frames);
}

}  // namespace bfly::dataplane
