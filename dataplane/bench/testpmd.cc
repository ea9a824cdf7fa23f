// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/testpmd.h"

#include <chrono>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "dataplane/runtime/cpus.h"
#include "dataplane/runtime/elapsed.h"

namespace bfly::dataplane {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRestOfLineSeconds = 0.05;  // testpmd may not have printed the number yet

// Returns the number behind the first `word` of a text, 0 if there is none.
double FirstNumber(const std::string& text, const std::string& word) {
  const size_t at = text.find(word);
  double number = 0;
  if (at == std::string::npos) return 0;
  const std::vector<std::string> rest =
      absl::StrSplit(text.substr(at + word.size(), 40), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  return !rest.empty() && absl::SimpleAtod(rest[0], &number) ? number : 0;
}

size_t Count(const std::string& text, const std::string& word) {
  return std::vector<absl::string_view>(absl::StrSplit(text, word)).size() - 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Testpmd>> Testpmd::Start(const TestpmdOptions& options,
                                                        const std::string& log) {
  std::string lcores = absl::StrCat("--lcores=0@(", FormatCpus(UsableCpus()), ")");
  for (size_t i = 0; i < options.cpus.size(); ++i) {
    absl::StrAppend(&lcores, ",", i + 1, "@", options.cpus[i]);
  }
  // stdbuf: line by line, so that the prompt is seen.
  std::vector<std::string> words = {"stdbuf",
                                    "-oL",
                                    options.program,
                                    "--no-huge",
                                    "--no-shconf",
                                    "--no-pci",
                                    "--no-telemetry",
                                    "-m",
                                    absl::StrCat(options.memory_mb),
                                    lcores,
                                    "--main-lcore=0"};
  for (const std::string& device : options.devices) words.push_back("--vdev=" + device);
  words.insert(words.end(),
               {"--", "-i", absl::StrCat("--forward-mode=", options.mode),
                absl::StrCat("--nb-cores=", options.cpus.size()), "--total-num-mbufs=16384",
                "--burst=64", "--mbcache=256", "--no-lsc-interrupt",
                // It would wait for links that come up only when the load connects.
                "--disable-link-check"});
  if (options.first_bursts == 0) words.push_back("--auto-start");
  auto process = BenchProcess::Execute(log, words);
  if (!process.ok()) return process.status();
  if (!(*process)->WaitForLog("testpmd> ", options.patience_seconds)) {
    return (*process)->Silent(options.program, "started", options.patience_seconds);
  }
  if (options.first_bursts > 0) {
    (*process)->Tell(absl::StrCat("start tx_first ", options.first_bursts, "\n"));
  }
  return std::unique_ptr<Testpmd>(new Testpmd(options, *std::move(process)));
}

absl::StatusOr<double> Testpmd::SentPerSecond(const std::vector<int>& ports, double seconds) {
  const Clock::time_point start = Clock::now();
  if (absl::Status status = ShowRates(ports); !status.ok()) return status;
  // testpmd prints the rate since the time before. On a busy machine, it may get no CPU for longer
  // than a measurement.
  double sum = 0;
  do {
    PauseFor(seconds);
    if (absl::Status status = ShowRates(ports); !status.ok()) return status;
    const std::string log = process_->Log();
    for (const int port : ports) {
      const size_t at = log.rfind(absl::StrCat("NIC statistics for port ", port));
      // The statistics of the next port stand behind those of this one.
      if (at != std::string::npos) sum += FirstNumber(log.substr(at, 1000), "Tx-pps:");
    }
  } while (sum == 0 && SecondsSince(start) < options_.patience_seconds);
  if (sum > 0) return sum;
  return absl::UnavailableError(absl::StrCat(options_.program, " forwarded nothing in ", seconds,
                                             " s; it printed last: ", process_->LogTail()));
}

absl::Status Testpmd::ShowRates(const std::vector<int>& ports) {
  const size_t before = Count(process_->Log(), "Tx-pps:");
  for (const int port : ports) process_->Tell(absl::StrCat("show port stats ", port, "\n"));
  const Clock::time_point start = Clock::now();
  while (Count(process_->Log(), "Tx-pps:") < before + ports.size()) {
    if (SecondsSince(start) > options_.patience_seconds || process_->HasEnded()) {
      return process_->Silent(options_.program, "said what it counted", options_.patience_seconds);
    }
    PauseFor(0.01);
  }
  PauseFor(kRestOfLineSeconds);
  return absl::OkStatus();
}

}  // namespace bfly::dataplane
