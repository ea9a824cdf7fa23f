// SPDX-License-Identifier: Apache-2.0
// What the commands /bfly/... of DPDK's telemetry socket answer, as plain values. No socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "dataplane/fabric/fabric.h"

namespace bfly::dataplane {

// Named figures, in the order of the answer.
using FigureList = std::vector<std::pair<std::string, std::variant<uint64_t, std::string>>>;

struct FabricAnswer {
  FigureList figures;
  // The name of the things with figures of their own, such as "links". Empty: the answer has no
  // such things.
  const char* list = "";
  uint64_t first = 0;  // the number of the first item
  std::vector<FigureList> items;
  // The number of the item with which the next answer begins. nullopt: this answer has the last
  // item.
  std::optional<uint64_t> next;
};

// DPDK puts an answer into 16 KiB, and these many items fit into it whatever their figures are.
inline constexpr size_t kLinksOfAnswer = 32, kStagesOfAnswer = 48, kWorkersOfAnswer = 24,
                        kPortsOfAnswer = 24;

struct FabricCommand {
  const char* path;  // "/bfly/links"
  const char* help;  // at most 100 characters, with the parameters
  // `parameters` is what stands behind the first comma. InvalidArgument says what is wrong with it.
  absl::StatusOr<FabricAnswer> (*answer)(const Fabric& fabric, const std::string& parameters);
};
const std::vector<FabricCommand>& FabricCommands();

}  // namespace bfly::dataplane
