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

std::filesystem::path SourceRoot() {
  const char* root = std::getenv("BFLY_SOURCE_ROOT");
  EXPECT_NE(root, nullptr) << "meson sets BFLY_SOURCE_ROOT";
  return root == nullptr ? "." : root;
}

std::filesystem::path Examples() { return SourceRoot() / "topologies" / "examples"; }

TEST(TopologyReference, ShowsACompleteFile) {
  const auto page = ReadTopologyText((SourceRoot() / "docs" / "topology-file.md").string());
  ASSERT_TRUE(page.ok()) << page.status();
  const std::string fence = "```yaml\n";
  const size_t begin = page->find(fence) + fence.size();
  const auto topology =
      ReadTopology(page->substr(begin, page->find("```", begin) - begin), "reference");
  EXPECT_TRUE(topology.ok()) << topology.status();
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
