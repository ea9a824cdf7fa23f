// SPDX-License-Identifier: Apache-2.0
// Circuit protocols against plain textbook implementations of them, in the same run and on the same
// requests. Prints the median and spread of repeated runs in CPU seconds of one core, and fails if
// the two disagree.
#include <ctime>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "control/protocols/circuit_set.h"
#include "tests/bench/textbook.h"

namespace bfly::control {
namespace {

constexpr uint64_t kSeed = 1;

struct Timing {
  double median = 0, least = 0, most = 0;  // CPU seconds
};

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

Timing Time(int repeats, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const double start = CpuSeconds();
    run();
    seconds.push_back(CpuSeconds() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front(), seconds.back()};
}

void Report(const char* what, uint32_t rows, double operations, const Timing& ours,
            const Timing& textbook) {
  std::cout << absl::StrFormat(
      "%-10s %8u rows  %9.2f ms (%.2f..%.2f)  %6.2f M operations/s  textbook %9.2f ms  ratio "
      "%.1f\n",
      what, rows, 1e3 * ours.median, 1e3 * ours.least, 1e3 * ours.most,
      operations / ours.median / 1e6, 1e3 * textbook.median, textbook.median / ours.median);
}

bool Disagree(const char* what, uint32_t rows) {
  std::cout << what << " at " << rows << " rows: the textbook chooses other paths\n";
  return false;
}

Network Make(NetworkKind kind, uint32_t rows) {
  return Network::Make({.kind = kind, .rows = rows, .seed = kSeed}).value();
}

// Two permutations set up and released in different orders: 2 * rows operations a pass.
bool BenchMinimum(uint32_t rows, int repeats) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows);
  const Permutation order = PermutationByName("random", rows, 2).value();
  const Permutation pi = PermutationByName("random", rows, 3).value();
  const auto chooser = MakeChooser("minimum", bb).value();
  CircuitSet circuits(bb);
  const int passes = static_cast<int>(std::max(1u, 65536 / rows));
  std::vector<bool> chosen(rows), expected(rows);
  const Timing ours = Time(repeats, [&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (Row input : order) {
        chosen[input] = circuits.SetUp(*chooser, input, pi[input])->choice == PathChoice::kPPrime;
      }
      for (Row input = 0; input < rows; ++input) circuits.Release(input).IgnoreError();
    }
  });
  textbook::Minimum plain(bb);
  const Timing textbook = Time(repeats, [&] {
    for (int pass = 0; pass < passes; ++pass) {
      for (Row input : order) expected[input] = plain.SetUp(input, pi[input]);
      for (Row input = 0; input < rows; ++input) plain.Release(input);
    }
  });
  Report("minimum", rows, 2.0 * rows * passes, ours, textbook);
  return chosen == expected || Disagree("minimum", rows);
}

bool BenchCollision(uint32_t rows, int repeats) {
  const Network bb = Make(NetworkKind::kTwoFoldButterfly, rows);
  const Permutation pi = PermutationByName("random", rows, 3).value();
  RouteResult result;
  const Timing ours =
      Time(repeats, [&] { result = RoutePermutation("collision", bb, pi).value(); });
  std::vector<int> expected;
  const Timing textbook =
      Time(1, [&] { expected = textbook::Collision(bb, pi, CollisionThreshold(bb.dimension())); });
  Report("collision", rows, rows, ours, textbook);
  for (Row input = 0; input < rows; ++input) {
    const int choice = result.paths[input].choice == PathChoice::kP        ? 0
                       : result.paths[input].choice == PathChoice::kPPrime ? 1
                                                                           : 2;
    if (choice != expected[input]) return Disagree("collision", rows);
  }
  return true;
}

bool BenchLooping(uint32_t rows, int repeats) {
  const Network benes = Make(NetworkKind::kBenes, rows);
  const Permutation pi = PermutationByName("random", rows, 3).value();
  RouteResult result;
  const Timing ours = Time(repeats, [&] { result = RoutePermutation("benes", benes, pi).value(); });
  std::vector<Row> middle;
  const Timing textbook = Time(1, [&] { middle = textbook::Looping(pi); });
  Report("benes", rows, rows, ours, textbook);
  for (Row input = 0; input < rows; ++input) {
    if (result.paths[input].tag != TagThrough(benes, middle[input], pi[input])) {
      return Disagree("benes", rows);
    }
  }
  return true;
}

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace
}  // namespace bfly::control

int main(int argc, char** argv) {
  using namespace bfly::control;
  uint32_t most_rows = 65536;
  int repeats = 5;
  if (argc > 3 || (argc > 1 && !absl::SimpleAtoi(argv[1], &most_rows)) ||
      (argc > 2 && (!absl::SimpleAtoi(argv[2], &repeats) || repeats < 1))) {
    std::cerr << "usage: protocols_bench [MOST_ROWS] [REPEATS]   (default 65536 5)\n";
    return 2;
  }
  std::cout << CpuModel() << ", compiler " << __VERSION__ << ", seed " << kSeed
            << "; median (least..most) of " << repeats << " runs, CPU time of one core\n";
  bool agree = true;
  for (uint32_t rows : {1024u, 65536u, 1048576u}) {
    if (rows > most_rows) continue;
    agree &= BenchMinimum(rows, repeats);
    agree &= BenchCollision(rows, repeats);
    agree &= BenchLooping(rows, repeats);
  }
  return agree ? 0 : 1;
}
