// SPDX-License-Identifier: Apache-2.0
#include "control/doctor/machine.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "dataplane/runtime/machine_cpus.h"

namespace bfly::control {
namespace {

namespace fs = std::filesystem;

// The default of x86-64, where the kernel does not tell it.
constexpr uint64_t kUsualPageKib = 2048;

}  // namespace

Machine::Machine(std::string root, std::string run_directory)
    : root_(std::move(root)), run_directory_(std::move(run_directory)) {}

std::string Machine::Path(absl::string_view path) const { return absl::StrCat(root_, path); }

std::optional<std::string> Machine::Text(absl::string_view path) const {
  std::error_code error;
  if (fs::is_directory(Path(path), error)) return std::nullopt;
  std::ifstream file(Path(path));
  if (!file) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return std::string(absl::StripAsciiWhitespace(text));
}

std::optional<uint64_t> Machine::Number(absl::string_view path) const {
  const std::optional<std::string> text = Text(path);
  uint64_t number = 0;
  if (!text.has_value() || !absl::SimpleAtoi(*text, &number)) return std::nullopt;
  return number;
}

std::vector<int> Machine::Cpus(absl::string_view path) const {
  return dataplane::ParseCpus(Text(path).value_or(""));
}

std::vector<std::string> Machine::Names(absl::string_view directory) const {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(Path(directory), error)) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool Machine::Exists(absl::string_view path) const {
  std::error_code error;
  return fs::exists(fs::symlink_status(Path(path), error));
}

std::string Machine::LinkName(absl::string_view path) const {
  std::error_code error;
  return fs::read_symlink(Path(path), error).filename();
}

bool Machine::IsWritable(absl::string_view directory) const {
  std::error_code error;
  fs::path path = Path(directory);
  if (root_.empty()) path = fs::absolute(path, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return fs::is_directory(path, error) && access(path.c_str(), W_OK | X_OK) == 0;
}

std::optional<std::string> Machine::Value(absl::string_view path, absl::string_view key) const {
  for (absl::string_view line : absl::StrSplit(Text(path).value_or(""), '\n')) {
    if (!absl::ConsumePrefix(&line, key)) continue;
    line = absl::StripLeadingAsciiWhitespace(line);
    if (!absl::ConsumePrefix(&line, ":")) continue;
    return std::string(absl::StripAsciiWhitespace(line));
  }
  return std::nullopt;
}

bool Machine::HasCapability(int capability) const {
  uint64_t bits = 0;
  const std::string text = Value("/proc/self/status", "CapEff").value_or("");
  return absl::SimpleHexAtoi(text, &bits) && (bits >> capability & 1) != 0;
}

std::vector<int> Machine::UsableCpus() const {
  const dataplane::MachineCpus machine{.online = Cpus("/sys/devices/system/cpu/online"),
                                       .isolated = Cpus("/sys/devices/system/cpu/isolated")};
  const std::vector<int> mine =
      dataplane::ParseCpus(Value("/proc/self/status", "Cpus_allowed_list").value_or(""));
  return dataplane::OnlyIsolatedAreMissing(mine, machine) ? machine.online : mine;
}

std::vector<HugepagesOfSize> Machine::HugepageSizes() const {
  constexpr char kFolder[] = "/sys/kernel/mm/hugepages";
  std::vector<HugepagesOfSize> sizes;
  for (const std::string& name : Names(kFolder)) {
    HugepagesOfSize size;
    absl::string_view text = name;
    if (!absl::ConsumePrefix(&text, "hugepages-") || !absl::ConsumeSuffix(&text, "kB") ||
        !absl::SimpleAtoi(text, &size.page_kib)) {
      continue;
    }
    size.reserved = Number(absl::StrCat(kFolder, "/", name, "/nr_hugepages")).value_or(0);
    size.free = Number(absl::StrCat(kFolder, "/", name, "/free_hugepages")).value_or(0);
    sizes.push_back(size);
  }
  return sizes;
}

HugepagesOfSize Machine::MostHugepages() const {
  const std::vector<HugepagesOfSize> sizes = HugepageSizes();
  const auto most = std::max_element(
      sizes.begin(), sizes.end(), [](const HugepagesOfSize& a, const HugepagesOfSize& b) {
        return std::pair(a.free_mb(), a.reserved_mb()) < std::pair(b.free_mb(), b.reserved_mb());
      });
  return most == sizes.end() ? HugepagesOfSize() : *most;
}

HugepagesOfSize Machine::DefaultHugepages() const {
  const std::string told = Value("/proc/meminfo", "Hugepagesize").value_or("");
  HugepagesOfSize usual;
  if (!absl::SimpleAtoi(absl::StripSuffix(told, " kB"), &usual.page_kib) || usual.page_kib == 0) {
    usual.page_kib = kUsualPageKib;
  }
  for (const HugepagesOfSize& size : HugepageSizes()) {
    if (size.page_kib == usual.page_kib) return size;
  }
  return usual;
}

uint64_t Machine::AvailableMb() const {
  uint64_t kib = 0;
  const std::string text = Value("/proc/meminfo", "MemAvailable").value_or("");
  if (!absl::SimpleAtoi(absl::StripSuffix(text, " kB"), &kib)) return 0;
  return kib / 1024;
}

}  // namespace bfly::control
