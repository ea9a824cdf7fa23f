// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of a machine in files, below a root that a test can choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::control {

// The hugepages of one size.
struct HugepagesOfSize {
  uint64_t page_kib = 0;
  uint64_t reserved = 0;  // pages, of which some may be in use
  uint64_t free = 0;
  uint64_t reserved_mb() const { return reserved * page_kib / 1024; }
  uint64_t free_mb() const { return free * page_kib / 1024; }
};

class Machine {
 public:
  // Paths are taken below `root`; empty: those of this machine. `run_directory` is where a fabric
  // is to run.
  Machine(std::string root, std::string run_directory);

  const std::string& root() const { return root_; }
  const std::string& run_directory() const { return run_directory_; }

  // The file without the blanks at its ends; nothing if it cannot be read.
  std::optional<std::string> Text(absl::string_view path) const;
  std::optional<uint64_t> Number(absl::string_view path) const;
  // The CPUs of a list such as "0-3,8"; none if the file has no such list.
  std::vector<int> Cpus(absl::string_view path) const;
  // The names in a directory, sorted.
  std::vector<std::string> Names(absl::string_view directory) const;
  bool Exists(absl::string_view path) const;
  // The last part of what a symbolic link leads to; empty if there is no such link.
  std::string LinkName(absl::string_view path) const;
  // Whether files can be made in the directory, or in the nearest one above it that exists.
  bool IsWritable(absl::string_view directory) const;

  // What follows "`key`:" in a line of the file; nothing if no line begins so.
  std::optional<std::string> Value(absl::string_view path, absl::string_view key) const;
  // Whether this process has a capability, by its number.
  bool HasCapability(int capability) const;
  // The CPUs that this process may use: its affinity, and the isolated ones if nobody chose it.
  std::vector<int> UsableCpus() const;
  std::vector<HugepagesOfSize> HugepageSizes() const;
  // Those of the size with the most free memory, of which a data plane takes all its memory.
  HugepagesOfSize MostHugepages() const;
  // Those of the default size, which `sysctl vm.nr_hugepages` counts; no pages if there are none.
  HugepagesOfSize DefaultHugepages() const;
  // MiB that programs can still get.
  uint64_t AvailableMb() const;

 private:
  std::string Path(absl::string_view path) const;

  std::string root_;
  std::string run_directory_;
};

}  // namespace bfly::control
