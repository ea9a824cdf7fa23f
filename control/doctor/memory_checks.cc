// SPDX-License-Identifier: Apache-2.0
#include <linux/capability.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "control/doctor/check.h"

namespace bfly::control {
namespace {

// What a data plane takes if neither the topology nor --memory-mb says how much.
constexpr uint64_t kUsualMb = 512;

}  // namespace

std::string ReserveHugepages(uint64_t more_mb, const Machine& machine) {
  const HugepagesOfSize usual = machine.DefaultHugepages();
  return absl::StrCat("sysctl -w vm.nr_hugepages=",
                      usual.reserved + (more_mb * 1024 + usual.page_kib - 1) / usual.page_kib);
}

Finding CheckMemory(const Machine& machine) {
  const uint64_t available = machine.AvailableMb();
  const uint64_t huge = machine.MostHugepages().free_mb();
  const std::string found = absl::StrCat(available, " MiB available");
  if (available >= kUsualMb || huge >= kUsualMb) return {Fitness::kOk, found};
  return {Fitness::kMissing, absl::StrCat(found, "; a data plane takes ", kUsualMb),
          "end other programs, or give data planes less with memory_mb of the topology file"};
}

Finding CheckHugepages(const Machine& machine) {
  const HugepagesOfSize most = machine.MostHugepages();
  const uint64_t free = most.free_mb();
  const std::string found = absl::StrCat(free, " MiB free of ", most.reserved_mb());
  if (free >= kUsualMb) return {Fitness::kOk, found};
  // Free pages of another size do not help: a data plane takes pages of one size.
  const uint64_t more = kUsualMb - machine.DefaultHugepages().free_mb();
  return {Fitness::kSlower, absl::StrCat(found, "; a data plane takes ", kUsualMb),
          absl::StrCat(ReserveHugepages(more, machine),
                       ", and the same line in /etc/sysctl.d/ for the next start of the machine")};
}

Finding CheckMemoryLock(const Machine& machine) {
  constexpr char kKey[] = "Max locked memory";
  if (machine.HasCapability(CAP_IPC_LOCK)) return {Fitness::kOk, "not limited (CAP_IPC_LOCK)"};
  for (const absl::string_view line :
       absl::StrSplit(machine.Text("/proc/self/limits").value_or(""), '\n')) {
    if (!absl::StartsWith(line, kKey)) continue;
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(sizeof(kKey) - 1), ' ', absl::SkipEmpty());
    if (words.empty()) break;
    if (words.front() == "unlimited") return {Fitness::kOk, "unlimited"};
    uint64_t bytes = 0;
    if (!absl::SimpleAtoi(words.front(), &bytes)) break;
    if (bytes >> 20 >= kUsualMb) return {Fitness::kOk, absl::StrCat(bytes >> 20, " MiB")};
    return {Fitness::kSlower,
            absl::StrCat(bytes >> 10, " KiB: AF_XDP before Linux 5.11 and PCI cards lock more"),
            "ulimit -l unlimited as root, or LimitMEMLOCK=infinity in the unit"};
  }
  return {Fitness::kSlower, "/proc/self/limits does not say", "ulimit -l unlimited as root"};
}

}  // namespace bfly::control
