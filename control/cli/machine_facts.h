// SPDX-License-Identifier: Apache-2.0
// What a reader of a measurement needs to know of the machine that it was made on.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bfly::control {

// Names and values, in the order in which reports have them: processor, CPUs, governor, isolated
// CPUs, CPUs that share the first core, NUMA nodes with their CPUs, hugepages, clock source,
// kernel, compiler. What the machine does not tell is "unknown".
std::vector<std::pair<std::string, std::string>> MachineFacts();

}  // namespace bfly::control
