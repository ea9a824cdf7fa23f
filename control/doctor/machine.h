// SPDX-License-Identifier: Apache-2.0
// What the kernel tells of a machine in files, below a root that a test can choose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace bfly::control {

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
  // MiB of hugepages that are reserved, and free.
  uint64_t HugepageMb() const { return HugepageMb("nr_hugepages"); }
  uint64_t FreeHugepageMb() const { return HugepageMb("free_hugepages"); }
  // MiB that programs can still get.
  uint64_t AvailableMb() const;

 private:
  std::string Path(absl::string_view path) const;
  uint64_t HugepageMb(const char* count) const;

  std::string root_;
  std::string run_directory_;
};

}  // namespace bfly::control
