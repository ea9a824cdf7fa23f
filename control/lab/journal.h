// SPDX-License-Identifier: Apache-2.0
// The journal of a lab: what `bfly lab up` makes, written to the run directory before each thing is
// made, so that `bfly lab down` finds it after a crash at any moment. One JSON value a line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "control/lab/plan.h"

namespace bfly::control {

// A namespace with a name. Linux numbers namespaces since boot and uses no number again (the
// cookie), so a later namespace of the same name is another one.
struct MadeNamespace {
  std::string name;
  uint64_t cookie = 0;
  friend bool operator==(const MadeNamespace&, const MadeNamespace&) = default;
};

struct LinkEnd {
  NamespaceRef where;
  uint64_t cookie = 0;  // of that namespace
  std::string interface;
  std::string mac;
  friend bool operator==(const LinkEnd&, const LinkEnd&) = default;
};

// A veth pair. The MAC address of the port's end is drawn at random and is the mark by which the
// pair is known again.
struct MadeLink {
  LinkEnd port, host;
  friend bool operator==(const MadeLink&, const MadeLink&) = default;
};

// The interface of a host of kind interface, which was there before and is the port.
struct UsedInterface {
  NamespaceRef where;
  uint64_t cookie = 0;  // of that namespace
  std::string interface;
  friend bool operator==(const UsedInterface&, const UsedInterface&) = default;
};

struct LabRecord {
  std::string name;
  std::string boot;  // of Linux: nothing that was made before the last boot is there any more
  std::string mark;  // drawn at random; the files of namespaces in /run/netns contain it
  std::vector<LabHost> hosts;
  std::vector<UsedInterface> used;
  std::vector<MadeNamespace> namespaces;
  std::vector<MadeLink> links;
  bool up = false;  // the lab came up whole
  friend bool operator==(const LabRecord&, const LabRecord&) = default;
};

// The lines of a journal.
std::string HeadLine(const LabRecord& record);  // all but what was made
std::string LineOf(const MadeNamespace& made);
std::string LineOf(const MadeLink& made);
std::string UpLine();

// Reads a journal back. A last line without its end is left out: what it names was never made.
// NotFound: not even the first line is whole. DataLoss names a line that is wrong.
absl::StatusOr<LabRecord> ParseJournal(absl::string_view text);

// The file of the journal in a run directory.
class LabJournal {
 public:
  static std::string PathIn(const std::string& run_dir) { return run_dir + "/lab.journal"; }
  // AlreadyExists: the directory has a journal. An error leaves none that was not there before.
  static absl::StatusOr<LabJournal> Create(const std::string& run_dir, const LabRecord& record);
  // NotFound: the directory has no journal, or one that ends before its first line does, so that
  // nothing was made.
  static absl::StatusOr<LabRecord> Read(const std::string& run_dir);
  // The caller holds the lock of the run directory: another process may be writing the journal.
  static absl::Status Remove(const std::string& run_dir);

  LabJournal(LabJournal&& other) noexcept : descriptor_(other.descriptor_) {
    other.descriptor_ = -1;
  }
  ~LabJournal();
  // The line is on the disk when this returns.
  absl::Status Append(const std::string& line);

 private:
  explicit LabJournal(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace bfly::control
