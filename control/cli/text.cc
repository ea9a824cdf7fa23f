// SPDX-License-Identifier: Apache-2.0
#include "control/cli/text.h"

#include <cstdio>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "control/json/message_json.h"

namespace bfly::control {
namespace {

absl::Status Put(const std::string& text) {
  if (puts(text.c_str()) < 0 || fflush(stdout) != 0)
    return absl::DataLossError("cannot write to standard output");
  return absl::OkStatus();
}

}  // namespace

std::string Count(double value) {
  const char* const units[] = {"", "k", "M", "G", "T", "P"};
  int unit = 0;
  while (value >= 999.5 && unit < 5) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return absl::StrFormat("%.*f%s", decimals, value, units[unit]);
}

bool Balances(const v1::Conservation& account) {
  return account.injected() == account.delivered() + account.dropped() + account.in_flight();
}

std::string ConservationLine(const v1::Conservation& account) {
  return absl::StrCat("conservation: injected ", account.injected(), " = delivered ",
                      account.delivered(), " + dropped ", account.dropped(), " + in flight ",
                      account.in_flight(), Balances(account) ? "" : "  DOES NOT BALANCE");
}

uint64_t Missed(const v1::Counters& counters) {
  uint64_t missed = 0;
  for (const v1::PortCounters& port : counters.ports()) missed += port.rx_missed();
  return missed;
}

std::string MissedLine(const v1::Counters& counters) {
  std::string ports;
  for (const v1::PortCounters& port : counters.ports()) {
    if (port.rx_missed() == 0) continue;
    absl::StrAppend(&ports, ports.empty() ? "" : ", ", port.name(), " ", port.rx_missed());
  }
  return absl::StrCat("ports missed ", Missed(counters), " frames before the fabric saw them",
                      ports.empty() ? "" : ": ", ports);
}

std::string LatenessLines(const google::protobuf::RepeatedPtrField<v1::WorkerStatus>& workers) {
  std::string lines;
  for (const v1::WorkerStatus& worker : workers) {
    const v1::Lateness& late = worker.lateness();
    if (late.packets() == 0) continue;
    absl::StrAppend(&lines,
                    absl::StrFormat("worker on lcore %u fell behind by %.1f us in the mean, "
                                    "%.1f us at p99, %.1f us at most (%s packets)\n",
                                    worker.lcore(), late.mean_us(), late.p99_us(), late.max_us(),
                                    Count(late.packets())));
  }
  return lines;
}

absl::Status PrintJson(const google::protobuf::Message& message) {
  return Put(ToJson(message).dump(2));
}

absl::Status PrintJsonLine(const google::protobuf::Message& message) {
  return Put(ToJson(message).dump());
}

}  // namespace bfly::control
