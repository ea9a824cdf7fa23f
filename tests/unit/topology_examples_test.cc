// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>

#include "control/topology_file/reader.h"
#include "control/topology_file/to_fabric_config.h"

namespace bfly::control {
namespace {

std::filesystem::path Examples() {
  const char* root = std::getenv("BFLY_SOURCE_ROOT");
  EXPECT_NE(root, nullptr) << "meson sets BFLY_SOURCE_ROOT";
  return std::filesystem::path(root == nullptr ? "." : root) / "topologies" / "examples";
}

TEST(TopologyExamples, AreAllValidAndCoverEveryKindOfNetwork) {
  std::set<std::string> names;
  std::set<int> kinds;
  for (const auto& entry : std::filesystem::directory_iterator(Examples())) {
    ASSERT_EQ(entry.path().extension(), ".yaml");
    const auto topology = ReadTopologyFile(entry.path().string());
    ASSERT_TRUE(topology.ok()) << topology.status().message();
    EXPECT_EQ(topology->name(), entry.path().stem()) << "an example is called as its file";
    names.insert(topology->name());
    kinds.insert(topology->network().kind());
    for (const v1::DataPlane& plane : topology->data_planes()) {
      const auto config = ToFabricConfig(*topology, plane.name());
      EXPECT_TRUE(config.ok()) << entry.path() << " " << config.status();
    }
  }
  EXPECT_TRUE(names.contains("demo"));
  EXPECT_EQ(kinds.size(), static_cast<size_t>(v1::NetworkKind_ARRAYSIZE) - 1);
}

}  // namespace
}  // namespace bfly::control
