// SPDX-License-Identifier: Apache-2.0
// A peer that is not bfly's own: dpdk-testpmd in another process answers ARP and ping (its icmpecho
// mode) at one row, and the test asks from another row, byte by byte.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "absl/strings/str_cat.h"
#include "dataplane/bench/bench_processes.h"
#include "dataplane/runtime/cpus.h"
#include "tests/packet/edge_fixture.h"
#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

const Bytes kAlice = Hex("52 54 00 12 34 56");
constexpr uint32_t kAliceIp = Ip(192, 0, 2, 1);
constexpr uint32_t kPeerIp = Ip(192, 0, 2, 2);
constexpr Row kAliceRow = 3;
constexpr Row kPeerRow = 12;
constexpr double kStartSeconds = 60;

// Destroyed after the ports, which have their sockets in it.
struct PeerDirectory {
  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
};

class PeerTest : protected PeerDirectory, public EdgeTest {
 protected:
  void StartTestpmd(const std::string& vdev) {
    auto process = BenchProcess::Execute(
        directory_ + "/testpmd.log",
        {"stdbuf", "-oL", "dpdk-testpmd", "--no-huge", "--no-shconf", "--no-pci", "--no-telemetry",
         "-m", "128", absl::StrCat("--file-prefix=bflypeer", getpid()),
         absl::StrCat("--lcores=(0-1)@(", FormatCpus(UsableCpus()), ")"), "--main-lcore=0",
         "--vdev=" + vdev, "--", "--forward-mode=icmpecho", "--auto-start", "--nb-cores=1",
         "--total-num-mbufs=4096", "--disable-link-check"});
    ASSERT_TRUE(process.ok()) << process.status();
    testpmd_ = *std::move(process);
    ASSERT_TRUE(testpmd_->WaitForLog("Press enter to exit", kStartSeconds)) << testpmd_->LogTail();
  }

  void BuildWith(const std::string& device) {
    Build({.ports = {{kAliceRow}, {kPeerRow}}, .devices = {"", device}});
  }

  // Sends `frame` from Alice until something comes back to her: the peer may still be connecting.
  Bytes Ask(const Bytes& frame) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
      Send(0, frame);
      for (int pass = 0; pass < 100; ++pass) {
        Run();
        const std::vector<Bytes> back = Take(0);
        if (!back.empty()) return back.front();
        usleep(1000);
      }
    }
    ADD_FAILURE() << "no answer; testpmd: " << testpmd_->LogTail();
    return {};
  }

  void ExpectArpAndPingAnswered() {
    const Bytes answer =
        Ask(Ethernet(kBroadcast, kAlice, 0x0806, Arp(1, kAlice, kAliceIp, Zeros(6), kPeerIp)) +
            Zeros(18));
    // Both see row addresses for each other and their own for themselves.
    const Bytes expected = Ethernet(kAlice, RowAddress(kPeerRow), 0x0806,
                                    Arp(2, RowAddress(kPeerRow), kPeerIp, kAlice, kAliceIp));
    ASSERT_GE(answer.size(), expected.size());
    EXPECT_EQ(Bytes(answer.begin(), answer.begin() + expected.size()), expected);

    for (int i = 0; i < 20; ++i) {
      while (!Take(0).empty()) Run();
      // Echo request 8, echo reply 0; RFC 792. The checksum of a body of zeros is that of the type.
      const Bytes request = Hex("08 00 f7ff 0000 0000") + Zeros(i * 50);
      const Bytes reply = Hex("00 00 ffff 0000 0000") + Zeros(i * 50);
      const auto ip = [](uint32_t from, uint32_t to, const Bytes& icmp) {
        Bytes packet = Ipv4(from, to, icmp);
        packet[9] = 1;
        return packet;
      };
      const Bytes back =
          Ask(Ethernet(RowAddress(kPeerRow), kAlice, 0x0800, ip(kAliceIp, kPeerIp, request)));
      ASSERT_EQ(back.size(), 14 + 20 + request.size());
      EXPECT_EQ(Bytes(back.begin(), back.begin() + 14),
                Ethernet(kAlice, RowAddress(kPeerRow), 0x0800));
      EXPECT_EQ(Bytes(back.begin() + 26, back.begin() + 34),
                Number(kPeerIp, 4) + Number(kAliceIp, 4));
      EXPECT_EQ(back[34], 0) << "an echo reply";
      EXPECT_EQ(Bytes(back.begin() + 38, back.end()), Bytes(reply.begin() + 4, reply.end()));
    }
    EXPECT_GE(ledger_.delivered, 42u);
    testpmd_->Stop(30);
  }

  std::unique_ptr<BenchProcess> testpmd_;
};

TEST_F(PeerTest, TestpmdAnswersOverMemif) {
  const std::string socket = absl::StrCat("socket-abstract=no,socket=", directory_, "/memif.sock");
  BuildWith("net_memif0,role=server," + socket);
  ASSERT_NO_FATAL_FAILURE(StartTestpmd("net_memif0,role=client," + socket));
  ExpectArpAndPingAnswered();
}

TEST_F(PeerTest, TestpmdAsAVirtioDriverAnswersOverVhost) {
  BuildWith("net_vhost0,iface=" + directory_ + "/vhost.sock");
  ASSERT_NO_FATAL_FAILURE(StartTestpmd("net_virtio_user0,path=" + directory_ + "/vhost.sock"));
  ExpectArpAndPingAnswered();
}

TEST_F(PeerTest, TestpmdAsAVhostDeviceAnswersOverVirtioUser) {
  ASSERT_NO_FATAL_FAILURE(StartTestpmd("net_vhost0,iface=" + directory_ + "/vhost.sock"));
  BuildWith("net_virtio_user0,path=" + directory_ + "/vhost.sock");
  ExpectArpAndPingAnswered();
}

}  // namespace
}  // namespace bfly::dataplane
