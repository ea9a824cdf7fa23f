// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/device_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class DevicePolicyTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(root_ + "/allowed/below");
    std::filesystem::create_directory(root_ + "/other");
    policy_.AllowDirectory(root_ + "/allowed");
  }

  std::string Error(const std::string& device) {
    return std::string(policy_.Check("ports[0].device", device).message());
  }
  std::string WritingTo(const std::string& path) { return "net_pcap0,tx_pcap=" + path; }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
  DevicePolicy policy_;
};

TEST_F(DevicePolicyTest, DevicesOfTheDocumentationPass) {
  for (const char* device :
       {"net_af_xdp,iface=bf0", "net_af_xdp_b3,iface=bf0,queue_count=2", "net_tap0,iface=bft0",
        "net_af_packet0,iface=bf0,qpairs=2", "net_memif0,role=server,id=0", "net_null", "net_null0",
        "net_ring_left", "0000:00:04.0", "00:04.0", "0000:3b:00.0,representor=[0-3]"}) {
    EXPECT_EQ(Error(device), "") << device;
  }
}

TEST_F(DevicePolicyTest, DriversThatRunProgramsOrAreUnknownAreRefused) {
  for (const char* device :
       {"net_failsafe0,exec(touch /tmp/x)", "net_bonding0,slave=net_null0",
        "net_softnic0,firmware=x", "net_no_such", "", ",iface=x", "vdev:net_pcap0,tx_pcap=/tmp/x",
        "net_null-0", "bus=vdev,name=net_pcap0,tx_pcap=/tmp/x", "eth_pcap0,tx_pcap=/tmp/x",
        "/tmp/x.so"}) {
    EXPECT_THAT(Error(device), HasSubstr("ports[0].device: \"")) << device;
    EXPECT_THAT(Error(device), HasSubstr("net_memif")) << device;
  }
}

TEST_F(DevicePolicyTest, ArgumentsThatADriverDoesNotDocumentAreRefused) {
  EXPECT_EQ(Error("net_ring0,internal=0x7fff0000"),
            "ports[0].device: net_ring has no argument \"internal\" here; it takes none");
  EXPECT_THAT(Error("net_null0,tx_pcap=/tmp/x"), HasSubstr("no argument \"tx_pcap\""));
}

TEST_F(DevicePolicyTest, FilesInAnAllowedDirectoryPassAndNoOthers) {
  EXPECT_EQ(Error(WritingTo(root_ + "/allowed/out.pcap")), "");
  for (const std::string& path :
       {root_ + "/other/out.pcap", root_ + "/allowed/below/out.pcap", root_ + "/allowed",
        root_ + "/allowed/../other/out.pcap", root_ + "/allowed/below/../../x", root_ + "/allowedx",
        std::string("/etc/cron.d/x"), std::string("out.pcap")}) {
    EXPECT_THAT(Error(WritingTo(path)), HasSubstr("--device-dir")) << path;
  }
  EXPECT_EQ(Error("net_memif0,role=server,socket-abstract=no,socket=" + root_ + "/allowed/s"), "");
  for (const char* device :
       {"net_memif0,role=server,socket=/etc/s", "net_vhost0,iface=/etc/s,queues=1",
        "net_virtio_user0,path=/dev/vhost-net", "virtio_user0,path=/etc/s",
        "net_af_xdp,iface=bf0,xdp_prog=/etc/x.o", "net_pcap0,rx_pcap=/etc/shadow",
        "net_pcap0,rx_iface=lo,tx_pcap=/etc/s"}) {
    EXPECT_THAT(Error(device), HasSubstr("--device-dir")) << device;
  }
}

TEST_F(DevicePolicyTest, LinksCountAsWhatTheyLeadTo) {
  std::ofstream(root_ + "/other/file") << "precious";
  std::filesystem::create_symlink(root_ + "/other/file", root_ + "/allowed/out");
  std::filesystem::create_symlink(root_ + "/other/none", root_ + "/allowed/dangling");
  std::filesystem::create_directory_symlink(root_ + "/other", root_ + "/allowed/away");
  std::filesystem::create_directory_symlink(root_ + "/allowed", root_ + "/other/back");
  for (const char* name : {"out", "dangling", "away/x"}) {
    EXPECT_THAT(Error(WritingTo(root_ + "/allowed/" + name)), HasSubstr("--device-dir")) << name;
  }
  EXPECT_EQ(Error(WritingTo(root_ + "/other/back/x")), "");
}

// While a part is missing, ".." goes back over its name. Once its owner has made it a link, ".."
// goes to the parent of the directory to which it leads.
TEST_F(DevicePolicyTest, AWayThatCouldComeToLeadElsewhereIsRefused) {
  for (const char* way :
       {"/other/none/../../allowed/", "/other/../allowed/", "/allowed/../allowed/"}) {
    EXPECT_THAT(Error(WritingTo(root_ + way + "x")), HasSubstr("has a \"..\"")) << way;
  }
  policy_.AllowFile(root_ + "/none/x");
  EXPECT_THAT(Error(WritingTo(root_ + "/none/x")), HasSubstr("/none: No such file or directory"));
}

TEST_F(DevicePolicyTest, ALinkThatOtherUsersMayChangeIsRefused) {
  const std::string other = root_ + "/other";
  std::filesystem::create_directory_symlink("../allowed", other + "/back");
  std::filesystem::create_directory_symlink("other/back", root_ + "/first");
  const auto refused = [&](const std::string& path) {
    return testing::Matches(HasSubstr("link " + other + "/back, which other users may change"))(
        Error(WritingTo(path)));
  };
  for (const std::string& path : {other + "/back/x", root_ + "/first/x"}) {
    ASSERT_EQ(chmod(other.c_str(), 0777), 0);
    EXPECT_TRUE(refused(path)) << path;
    ASSERT_EQ(chmod(other.c_str(), 01777), 0);  // only its owner may replace the link
    EXPECT_EQ(Error(WritingTo(path)), "");
  }
  if (geteuid() != 0) GTEST_SKIP() << "needs root to give the link away";
  ASSERT_EQ(lchown((other + "/back").c_str(), 1000, 0), 0);
  EXPECT_TRUE(refused(other + "/back/x"));
  ASSERT_EQ(lchown((other + "/back").c_str(), 0, 0), 0);
  ASSERT_EQ(chmod(other.c_str(), 0755), 0);
  EXPECT_EQ(Error(WritingTo(other + "/back/x")), "");
  ASSERT_EQ(chown(other.c_str(), 1000, 0), 0);
  EXPECT_TRUE(refused(other + "/back/x"));
}

TEST_F(DevicePolicyTest, LinksInACircleAreRefused) {
  std::filesystem::create_symlink("circle", root_ + "/allowed/circle");
  EXPECT_THAT(Error(WritingTo(root_ + "/allowed/circle")), HasSubstr("too many links"));
}

TEST_F(DevicePolicyTest, AFileThatWasNamedIsAllowedByItselfAlone) {
  policy_.AllowFile(root_ + "/other/out.pcap");
  EXPECT_EQ(Error(WritingTo(root_ + "/other/out.pcap")), "");
  EXPECT_THAT(Error(WritingTo(root_ + "/other/out.pcap2")), HasSubstr("--device-file"));
  // Somebody put a link there since.
  std::filesystem::create_symlink(root_ + "/none", root_ + "/other/out.pcap");
  EXPECT_THAT(Error(WritingTo(root_ + "/other/out.pcap")), HasSubstr("link to nothing"));
}

TEST_F(DevicePolicyTest, ADirectoryThatOthersMayWriteToIsRefused) {
  ASSERT_EQ(chmod((root_ + "/allowed").c_str(), 0777), 0);
  EXPECT_THAT(Error(WritingTo(root_ + "/allowed/x")), HasSubstr("other users may write to"));
}

TEST_F(DevicePolicyTest, ValuesThatDpdkReadsAsSyntaxAreRefused) {
  for (const std::string& device :
       {WritingTo("[" + root_ + "/allowed/x,/etc/x]"), WritingTo(root_ + "/allowed/bus=vdev"),
        WritingTo(""), std::string("net_null0,size=64/bus=vdev"), std::string("net_tap0,iface="),
        std::string("0000:00:04.0,fw=/etc/shadow"), std::string("net_tap0,iface=../x")}) {
    EXPECT_FALSE(policy_.Check("f", device).ok()) << device;
  }
}

TEST_F(DevicePolicyTest, EveryPortAndTrunkOfAFabricIsChecked) {
  FabricConfig config;
  config.ports.resize(2);
  config.ports[0].device = "net_null0";
  config.ports[1].device = "net_vhost0,iface=/etc/a";
  config.trunks.resize(1);
  config.trunks[0].device = "net_memif0,socket=/etc/b";
  const std::vector<absl::Status> errors = policy_.Check(config);
  ASSERT_EQ(errors.size(), 2u);
  EXPECT_THAT(std::string(errors[0].message()), HasSubstr("ports[1].device: iface: /etc/a"));
  EXPECT_THAT(std::string(errors[1].message()), HasSubstr("trunks[0].device: socket: /etc/b"));
  EXPECT_THAT(DeviceFiles(config), ElementsAre("/etc/a", "/etc/b"));
}

TEST(DeviceFiles, AreThoseOfArgumentsThatNameFiles) {
  EXPECT_THAT(DeviceFiles("net_pcap0,rx_pcap=/a/in,tx_pcap=/b/out,rx_iface=lo"),
              ElementsAre("/a/in", "/b/out"));
  EXPECT_THAT(DeviceFiles("net_virtio_user0,path=/dev/vhost-net,iface=t0"),
              ElementsAre("/dev/vhost-net"));
  EXPECT_THAT(DeviceFiles("net_af_xdp,iface=bf0"), IsEmpty());
  EXPECT_THAT(DeviceFiles("0000:00:04.0"), IsEmpty());
  EXPECT_THAT(DeviceFiles("net_pcap0,tx_pcap=out"),
              ElementsAre((std::filesystem::current_path() / "out").string()));
}

}  // namespace
}  // namespace bfly::dataplane
