// SPDX-License-Identifier: Apache-2.0
// The tests in this directory move packets through a data plane inside the test process, with
// ordinary pages, without root and without a device of the machine.
#include <gtest/gtest.h>

#include <iostream>

#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/eal.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  // Tests of blocks of rows run four workers, whatever the number of CPUs.
  bfly::dataplane::AddLcores(4);
  const auto eal = bfly::dataplane::StartEal({.memory_mb = 512, .use_hugepages = false});
  if (!eal.ok()) {
    std::cerr << eal.status() << "\n";
    return 1;
  }
  const int failed = RUN_ALL_TESTS();
  bfly::dataplane::StopEal();
  return failed;
}
