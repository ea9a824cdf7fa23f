// SPDX-License-Identifier: Apache-2.0
// Circuit protocols against plain textbook implementations of them, in the same run and on the same
// requests. Prints the median and spread of repeated runs, and fails if the two disagree.
#include <iostream>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "control/bench/circuit_bench.h"

int main(int argc, char** argv) {
  using namespace bfly::control;
  uint32_t most_rows = 65536;
  int runs = 5;
  if (argc > 3 || (argc > 1 && !absl::SimpleAtoi(argv[1], &most_rows)) ||
      (argc > 2 && (!absl::SimpleAtoi(argv[2], &runs) || runs < 1))) {
    std::cerr << "usage: protocols_bench [MOST_ROWS] [RUNS]   (default 65536 5)\n";
    return 2;
  }
  bool agree = true;
  for (const std::string& protocol : BenchedProtocols()) {
    for (const uint32_t rows : {1024u, 65536u, 1048576u}) {
      if (rows > most_rows) continue;
      const auto result = RunCircuitBench({.protocol = protocol, .rows = rows, .runs = runs});
      if (!result.ok()) {
        std::cout << result.status().message() << "\n";
        agree = false;
        continue;
      }
      const bfly::dataplane::RunStatistics& ours = result->seconds;
      std::cout << absl::StrFormat(
          "%-10s %8u rows  %9.2f ms (%.2f..%.2f)  %6.2f M operations/s  textbook %9.2f ms  ratio "
          "%.1f\n",
          protocol, rows, 1e3 * ours.median, 1e3 * ours.lowest, 1e3 * ours.highest,
          static_cast<double>(result->operations) / ours.median / 1e6,
          1e3 * result->textbook_seconds.median, result->textbook_seconds.median / ours.median);
    }
  }
  return agree ? 0 : 1;
}
