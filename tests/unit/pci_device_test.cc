// SPDX-License-Identifier: Apache-2.0
#include "dataplane/ports/pci_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/temporary_folder.h"

namespace bfly::dataplane {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(PciDevice, AddressesAreWrittenOutAndOtherDevicesAreNone) {
  EXPECT_EQ(PciDevice("0000:00:04.0"), "0000:00:04.0");
  EXPECT_EQ(PciDevice("00:04.0"), "0000:00:04.0");
  EXPECT_EQ(PciDevice("3B:0A.1"), "0000:3b:0a.1");
  EXPECT_EQ(PciDevice("0000:00:04.0,vectorized=1"), "0000:00:04.0,vectorized=1");
  for (const char* other : {"", "net_memif0,role=server", "net_tap0", "00:04", "0:0:0:0.0"}) {
    EXPECT_EQ(PciDevice(other), "") << other;
  }
}

// A tree as the kernel keeps it under /sys/bus/pci.
class CheckPciDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "devices/0000:00:01.0");
    fs::create_directories(root_ / "devices/0000:00:02.0");
    fs::create_directories(root_ / "devices/0000:00:03.0");
    fs::create_directories(root_ / "drivers/e1000e");
    fs::create_directories(root_ / "drivers/vfio-pci");
    fs::create_symlink("../../drivers/e1000e", root_ / "devices/0000:00:02.0/driver");
    fs::create_symlink("../../drivers/vfio-pci", root_ / "devices/0000:00:03.0/driver");
  }

  absl::Status Check(const std::string& device) const {
    return CheckPciDevice("ports[2].device", device, (root_ / "devices").string());
  }

  const TemporaryFolder folder_;
  const fs::path root_ = folder_.path();
};

TEST_F(CheckPciDeviceTest, AnAddressWithoutADeviceIsNotFound) {
  const absl::Status status = Check("00:1e.0");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("ports[2].device: this machine has no PCI device at 0000:00:1e.0"));
}

TEST_F(CheckPciDeviceTest, ADeviceThatDpdkCannotHaveSaysWhoHoldsItAndWhatToDo) {
  const absl::Status unbound = Check("0000:00:01.0");
  EXPECT_EQ(unbound.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(unbound.message()), HasSubstr("bound to no driver; bind it to vfio-pci"));
  const absl::Status kernels = Check("0000:00:02.0");
  EXPECT_EQ(kernels.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(kernels.message()), HasSubstr("held by the kernel's driver e1000e"));
  EXPECT_THAT(std::string(kernels.message()),
              HasSubstr("dpdk-devbind.py --bind=vfio-pci 0000:00:02.0"));
}

TEST_F(CheckPciDeviceTest, ADeviceBoundToVfioAndADeviceThatIsNotPciAreFine) {
  EXPECT_TRUE(Check("0000:00:03.0").ok());
  EXPECT_TRUE(Check("net_memif0,role=server").ok());
}

}  // namespace
}  // namespace bfly::dataplane
