// SPDX-License-Identifier: Apache-2.0
// encode_topology FILE.yaml OUTPUT: the file as an encoded bfly.v1.Topology.
#include <fstream>
#include <iostream>

#include "control/topology_file/reader.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto topology = bfly::control::ReadTopologyFile(argv[1]);
  if (!topology.ok()) {
    std::cerr << topology.status().message() << "\n";
    return 1;
  }
  std::ofstream out(argv[2], std::ios::binary);
  return topology->SerializeToOstream(&out) && out.flush() ? 0 : 1;
}
