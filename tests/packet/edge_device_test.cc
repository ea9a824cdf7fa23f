// SPDX-License-Identifier: Apache-2.0
// Device strings as users write them: opened, refused with a reason, closed and opened again.
#include <bpf/libbpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_memory.h>
#include <rte_mempool.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "dataplane/ports/ethdev.h"
#include "dataplane/ports/frame_pool.h"
#include "dataplane/ports/memif_relay.h"
#include "dataplane/ports/packet_sockets.h"
#include "dataplane/xdp/edge_object.h"
#include "tests/packet/edge_fixture.h"
#include "tests/packet/frame_bytes.h"

namespace bfly::dataplane {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

class DeviceTest : public testing::Test {
 protected:
  explicit DeviceTest(uint32_t max_frame_bytes = 1518) : max_frame_bytes_(max_frame_bytes) {
    FabricConfig config;
    config.mbufs = 4095;
    config.max_frame_bytes = max_frame_bytes;
    pool_ = *MakeFramePool("device_test", config);
  }
  ~DeviceTest() override { EXPECT_EQ(rte_mempool_avail_count(pool_.get()), pool_->size); }

  absl::StatusOr<std::unique_ptr<Ethdev>> Open(const std::string& device, int queue_pairs = 1) {
    return Ethdev::Open({.field = "ports[3].device",
                         .device = device,
                         .queue_pairs = queue_pairs,
                         .max_frame_bytes = max_frame_bytes_,
                         .pool = pool_.get(),
                         .edge = {}});
  }
  std::string Refusal(const std::string& device, int queue_pairs = 1) {
    auto dev = Open(device, queue_pairs);
    return dev.ok() ? "opened" : std::string(dev.status().message());
  }

  const uint32_t max_frame_bytes_;
  FramePool pool_;
};

class JumboDeviceTest : public DeviceTest {
 protected:
  JumboDeviceTest() : DeviceTest(9018) {}
};

TEST_F(DeviceTest, ADeviceCanBeOpenedAgainAfterItWasClosed) {
  for (int i = 0; i < 3; ++i) {
    auto dev = Open("net_null7");
    ASSERT_TRUE(dev.ok()) << dev.status();
    EXPECT_EQ((*dev)->name(), "net_null7");
    EXPECT_TRUE((*dev)->link_up());
    rte_mbuf* frames[kBurst];
    const int count = rte_eth_rx_burst((*dev)->id(), 0, frames, kBurst);
    EXPECT_GT(count, 0) << "net_null makes frames as fast as one asks";
    rte_pktmbuf_free_bulk(frames, static_cast<unsigned>(count));
    dev->reset();
    EXPECT_EQ(rte_eth_dev_count_avail(), 0);
  }
}

TEST_F(DeviceTest, DevicesWithoutANumberGetNamesOfTheirOwn) {
  auto first = Open("net_null,size=64");
  auto second = Open("net_null,size=128");
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_NE((*first)->name(), (*second)->name());
}

TEST_F(DeviceTest, ADeviceBelongsToOnePort) {
  auto first = Open("net_null7");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Refusal("net_null7"),
              AllOf(StartsWith("ports[3].device: "), HasSubstr("in use already")));
}

TEST_F(DeviceTest, ADeviceThatCannotBeOpenedSaysWhichAndWhatDpdkSaid) {
  EXPECT_THAT(
      Refusal("net_nonsense0"),
      StartsWith(
          "ports[3].device: DPDK has no driver for \"net_nonsense0\"; a device begins with"));
  EXPECT_THAT(Refusal("net_pcap0,rx_pcap=/nonexistent/capture.pcap"),
              AllOf(StartsWith("ports[3].device: cannot open \"net_pcap0"), HasSubstr("DPDK: "),
                    HasSubstr("/nonexistent/capture.pcap")));
  EXPECT_THAT(Refusal(""), HasSubstr("names no device"));
  EXPECT_THAT(Refusal(",iface=x"), HasSubstr("names no device"));
}

TEST_F(DeviceTest, EveryBufferOfAFramePoolKnowsWhereDevicesWrite) {
  for (const char* device : {"0000:00:04.0", "net_af_xdp0,iface=a"}) {
    FabricConfig config;
    config.mbufs = 2047;
    config.ports.resize(1);
    config.ports[0].device = device;
    const FramePool pool = *MakeFramePool("addresses_test", config);
    ASSERT_EQ(pool->flags & RTE_MEMPOOL_F_NON_IO, 0u) << device;
    std::vector<rte_mbuf*> all(pool->size);
    ASSERT_EQ(rte_pktmbuf_alloc_bulk(pool.get(), all.data(), pool->size), 0);
    for (rte_mbuf* m : all) {
      ASSERT_EQ(rte_mbuf_iova_get(m), rte_mem_virt2iova(m->buf_addr)) << device;
    }
    rte_pktmbuf_free_bulk(all.data(), pool->size);
  }
}

TEST_F(DeviceTest, BuffersThatWorkersKeepInTheirCachesDoNotStarveADevice) {
  FabricConfig config;
  config.ports.resize(1);
  // 8,192 inside the fabric, 5,120 of a queue pair, and 384 of a cache of 256 that DPDK has not
  // emptied.
  EXPECT_EQ(FramePoolSize(config, 1), 8192u + 5120 + 384);
  EXPECT_EQ(FramePoolSize(config, 127), 8192u + 5120 + 127 * 384);
  EXPECT_EQ(QueuePairsFor(8192 + 3 * 5120 + 127 * 384, 127), 3);
  EXPECT_EQ(QueuePairsFor(8192 + 3 * 5120 + 127 * 384 - 1, 127), 2);
  EXPECT_EQ(QueuePairsFor(127 * 384, 127), 0);

  // A device takes buffers, and 48 workers in turn return them: 100,000, one at a time.
  constexpr unsigned kWorkers = 48;
  const FramePool pool = *MakeFramePool("caches_test", config, kWorkers);
  for (unsigned i = 0; i < 100'000; ++i) {
    void* buffer = nullptr;
    ASSERT_EQ(rte_mempool_generic_get(pool.get(), &buffer, 1, nullptr), 0)
        << "after " << i << " buffers every one is in a cache";
    rte_mempool_generic_put(pool.get(), &buffer, 1,
                            rte_mempool_default_cache(pool.get(), i % kWorkers));
  }
}

// The kernel's number of the XDP program on the interface; 0: there is none.
uint32_t ProgramOn(const std::string& interface) {
  uint32_t id = 0;
  EXPECT_EQ(bpf_xdp_query_id(static_cast<int>(if_nametoindex(interface.c_str())), 0, &id), 0);
  return id;
}

// Needs CAP_NET_ADMIN and CAP_BPF. The interface is a TAP.
TEST(XdpProgramTest, OfTheUserIsTakenOffBeforeTheBuffersComeBack) {
  const std::string file = absl::StrCat(testing::TempDir(), "edge_program_", getpid(), ".o");
  size_t size = 0;
  const char* const program = static_cast<const char*>(EdgeObject(&size));
  std::ofstream(file, std::ios::binary).write(program, static_cast<std::streamsize>(size));
  const std::string interface = absl::StrCat("bflyx", getpid());
  FabricConfig config;
  config.mbufs = 8191;
  config.ports.resize(1);
  config.ports[0].device = absl::StrCat("net_af_xdp9,iface=", interface, ",xdp_prog=", file);
  const FramePool pool = *MakeFramePool("users_program_test", config);
  const auto open = [&](const std::string& device) {
    return Ethdev::Open({.field = "device", .device = device, .pool = pool.get(), .edge = {}});
  };
  auto tap = open(absl::StrCat("net_tap9,iface=", interface));
  ASSERT_TRUE(tap.ok()) << tap.status();
  auto xdp = open(config.ports[0].device);
  ASSERT_TRUE(xdp.ok()) << xdp.status();
  EXPECT_NE(ProgramOn(interface), 0u);
  EXPECT_LT(rte_mempool_avail_count(pool.get()), pool->size) << "the kernel has some";
  EXPECT_TRUE((*xdp)->StopReceiving());
  EXPECT_EQ(ProgramOn(interface), 0u);
  EXPECT_TRUE((*xdp)->StopReceiving()) << "it stays stopped";
  (*xdp)->Reclaim();
  xdp->reset();
  tap->reset();
  EXPECT_EQ(rte_mempool_avail_count(pool.get()), pool->size);
  std::remove(file.c_str());
}

TEST_F(DeviceTest, MoreQueuePairsThanTheDeviceHasAreRefused) {
  RingPeer peer("narrow", 64, 1);
  EXPECT_THAT(Refusal(peer.device(), 2), AllOf(HasSubstr("queue_pairs is 2"), HasSubstr("has 1")));
}

// A classic capture file, little endian, written from its specification.
void WriteCapture(const std::string& path, const std::vector<Bytes>& frames) {
  const auto le = [](uint64_t value, int size) {
    std::string s;
    for (int i = 0; i < size; ++i) s += static_cast<char>(value >> (8 * i));
    return s;
  };
  std::ofstream file(path, std::ios::binary);
  file << le(0xa1b2c3d4, 4) << le(2, 2) << le(4, 2) << le(0, 8) << le(65535, 4) << le(1, 4);
  for (const Bytes& frame : frames) {
    const auto size = static_cast<uint32_t>(frame.size());
    file << le(0, 8) << le(size, 4) << le(size, 4) << std::string(frame.begin(), frame.end());
  }
}

std::vector<Bytes> ReadCapture(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<Bytes> frames;
  for (size_t at = 24; at + 16 <= all.size();) {
    size_t size = 0;
    for (int i = 3; i >= 0; --i) size = size * 256 + static_cast<uint8_t>(all[at + 8 + i]);
    frames.emplace_back(all.begin() + at + 16, all.begin() + at + 16 + size);
    at += 16 + size;
  }
  return frames;
}

// From capture to fabric to capture, frames byte for byte. The output has the same port as the
// input: one port of all rows, whose frames have row addresses.
TEST_F(JumboDeviceTest, ACaptureFileIsForwardedByteForByte) {
  const std::string in = absl::StrCat(testing::TempDir(), "edge_in_", getpid(), ".pcap");
  const std::string out = absl::StrCat(testing::TempDir(), "edge_out_", getpid(), ".pcap");
  std::vector<Bytes> frames;
  for (int i = 0; i < 100; ++i) {
    frames.push_back(Ethernet(RowAddress(i * 7 % 16), RowAddress(i % 16), 0x0800,
                              Pattern(i * 90 % 9000, static_cast<uint8_t>(i))));
  }
  WriteCapture(in, frames);

  auto network = Network::Make({.kind = NetworkKind::kTwoFoldButterfly, .rows = 16});
  const RouteTable routes(*network, WithoutCircuit::kBestEffort);
  const std::vector<Row> rows = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  HostPortConfig config;
  config.name = "capture";
  config.device = absl::StrCat("net_pcap,rx_pcap=", in, ",tx_pcap=", out);
  config.rows = rows;
  auto port = HostPort::Open("ports[0]", config,
                             {.routes = &routes,
                              .rules = MakeFrameRules(*network, {}, 9018),
                              .flood = &rows,
                              .pool = pool_.get()});
  ASSERT_TRUE(port.ok()) << port.status();
  Egress egress(16);
  egress.Attach(rows, &(*port)->transmitter(0));
  Ledger ledger;
  for (int pass = 0; pass < 100 && ledger.delivered < frames.size(); ++pass) {
    Descriptor burst[kBurst];
    const int count = (*port)->inlet(0).Receive(burst, kBurst, ledger);
    for (int i = 0; i < count; ++i)
      burst[i].row = WalkTag(*network, burst[i].row, burst[i].tag >> 56).back();
    EXPECT_EQ(egress.Send(burst, count, ledger), count);
    egress.Flush(ledger);
    EXPECT_EQ(ledger.injected, ledger.delivered + ledger.dropped_total() + egress.held());
  }
  EXPECT_EQ(ledger.delivered, frames.size());
  port->reset();
  EXPECT_EQ(ReadCapture(out), frames);
  std::remove(in.c_str());
  std::remove(out.c_str());
}

TEST_F(JumboDeviceTest, AMemifCarriesFramesOf9018BytesWhateverItsDriverSays) {
  auto dev =
      Open(absl::StrCat("net_memif0,role=server,socket-abstract=no,socket=", testing::TempDir(),
                        "edge_memif_", getpid(), ".sock"));
  EXPECT_TRUE(dev.ok()) << dev.status();
}

// DPDK's driver takes any id: it reads "3x" as 3 and "0x3" as 0.
TEST(MemifDeviceTest, AnIdThatTheDriverWouldReadAsAnotherIsRefused) {
  for (const char* id : {"0x3", "3x", "-1", "", "4294967296"}) {
    const auto memif = MemifDevice::Of(absl::StrCat("net_memif0,role=server,id=", id));
    EXPECT_EQ(memif.status().code(), absl::StatusCode::kInvalidArgument) << id;
    EXPECT_THAT(std::string(memif.status().message()), HasSubstr(absl::StrCat("id \"", id, "\"")));
  }
  EXPECT_EQ(MemifDevice::Of("net_memif0,role=sever,id=3").status().code(),
            absl::StatusCode::kInvalidArgument);
  const auto memif = MemifDevice::Of("net_memif0,role=server,id=4294967295,socket=/a,secret=x");
  ASSERT_TRUE(memif.ok() && memif->has_value());
  EXPECT_EQ((*memif)->id, 4294967295u);
  EXPECT_TRUE((*memif)->server);
  EXPECT_EQ((*memif)->socket.path, "/a");
  const auto tap = MemifDevice::Of("net_tap0,iface=a,id=x");
  EXPECT_TRUE(tap.ok() && !tap->has_value());
}

// Needs CAP_NET_ADMIN, as a TAP device does.
TEST_F(JumboDeviceTest, ADeviceThatCannotCarryTheLongestFrameSaysWhatItCan) {
  EXPECT_THAT(Refusal(absl::StrCat("net_tap9,iface=bflyt", getpid())),
              AllOf(StartsWith("ports[3].device: frames of 9018 bytes must pass"),
                    HasSubstr("at most 1522")));
}

// In front of a received frame the kernel writes 32 bytes about the frame, 20 bytes of an address,
// and what puts the byte after the Ethernet header at the next multiple of 16, which is 80: the
// frame begins at 80 - 14 = 66. A frame of 1024 - 66 = 958 bytes may be a longer one that was cut.
// Needs CAP_NET_ADMIN and CAP_NET_RAW.
TEST_F(DeviceTest, APacketSocketWhoseSlotsAreTooShortSaysWhatTheyHold) {
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=1024,blocksz=4096"),
              AllOf(StartsWith("ports[3].device: frames of 1518 bytes must pass"),
                    HasSubstr("carries at most 957;")));
  // A frame of 1584 - 66 = 1518 bytes fits, and so does what is left of a longer one. A block is
  // 256 slots and 99 pages.
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=1584,blocksz=405504"),
              HasSubstr("carries at most 1517;"));
}

// Two slots of 1600 bytes fit in a block of 4096. The kernel puts the third one at 4096, where the
// next block begins, and DPDK's driver looks for it at 3200. Needs CAP_NET_ADMIN.
TEST_F(DeviceTest, APacketSocketWhoseSlotsDoNotFillABlockIsRefused) {
  EXPECT_THAT(
      Refusal("net_af_packet9,iface=lo,framesz=1600,blocksz=4096"),
      AllOf(StartsWith("ports[3].device: framesz is 1600 and does not divide blocksz, which is "
                       "4096"),
            HasSubstr("such as 2048")));
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=2064,blocksz=4096"),
              HasSubstr("framesz is 2064 and does not divide blocksz"));
  // A block is a page if the device does not say how long it is.
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=1600"),
              HasSubstr(absl::StrCat("does not divide blocksz, which is ", getpagesize(), ";")));
}

// DPDK's driver reads "1024x" as 1024, and takes the last of two arguments.
TEST_F(DeviceTest, ASlotSizeThatTheDriverWouldReadAsAnotherIsRefused) {
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=1024x,blocksz=4096"),
              StartsWith("ports[3].device: framesz is \"1024x\", which is not a number"));
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framesz=2048,framesz=1024,blocksz=4096"),
              AllOf(StartsWith("ports[3].device: "), HasSubstr("gives framesz twice")));
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,framecnt=512x"), HasSubstr("framecnt is \"512x\""));
  EXPECT_THAT(Refusal("net_af_packet9,iface=lo,blocksz=4096x"), HasSubstr("blocksz is \"4096x\""));
}

// Exits with 0 if the error names what is needed, and with 2 if no user namespace can be made.
[[noreturn]] void SetUpPacketSocketInUserNamespace() {
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) _exit(2);
  const unsigned loopback = if_nametoindex("lo");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(loopback);
  const int fd = socket(AF_PACKET, SOCK_RAW, 0);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) _exit(3);
  const absl::Status status = PacketSockets(loopback).SetUp(PacketRing{});
  const bool names_it = status.message().find("CAP_NET_ADMIN") != absl::string_view::npos;
  _exit(status.code() == absl::StatusCode::kPermissionDenied && names_it ? 0 : 1);
}

// A process there has all capabilities, but the kernel asks for those of the first user namespace.
TEST(PacketSocketsTest, AnotherUserNamespaceIsRefusedWithTheCapabilityItNeeds) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) SetUpPacketSocketInUserNamespace();
  int end = 0;
  ASSERT_EQ(waitpid(child, &end, 0), child);
  ASSERT_TRUE(WIFEXITED(end)) << end;
  if (WEXITSTATUS(end) == 2) GTEST_SKIP() << "no user namespace can be made";
  EXPECT_EQ(WEXITSTATUS(end), 0);
}

TEST_F(DeviceTest, ATapCarriesTheUsualFrames) {
  auto dev = Open(absl::StrCat("net_tap9,iface=bflyt", getpid()));
  ASSERT_TRUE(dev.ok()) << dev.status();
  uint16_t mtu = 0;
  EXPECT_EQ(rte_eth_dev_get_mtu((*dev)->id(), &mtu), 0);
  EXPECT_EQ(mtu, 1500);
}

}  // namespace
}  // namespace bfly::dataplane
