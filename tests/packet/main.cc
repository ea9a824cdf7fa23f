// SPDX-License-Identifier: Apache-2.0
// Tests in this directory move packets through a data plane inside the test process: ordinary
// pages, no root, no device of the machine.
#include <gtest/gtest.h>

#include <iostream>

#include "dataplane/runtime/eal.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto eal = bfly::dataplane::StartEal({.memory_mb = 512, .use_hugepages = false});
  if (!eal.ok()) {
    std::cerr << eal.status() << "\n";
    return 1;
  }
  const int failed = RUN_ALL_TESTS();
  bfly::dataplane::StopEal();
  return failed;
}
