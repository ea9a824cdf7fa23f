// SPDX-License-Identifier: Apache-2.0
// The frames that benchmarks send, and the directories where benchmarks keep files.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "topologies/network.h"

namespace bfly::dataplane {

using Frames = std::vector<std::vector<uint8_t>>;

// Returns the rows from..from+count-1.
std::vector<Row> ConsecutiveRows(Row from, uint32_t count);

// Returns 1,024 frames of `bytes` bytes (60 or more), each with an IPv4 header. Frames of one pair
// of rows have MAC and IPv4 addresses that no other pair has. The pairs come again and again,
// mixed.
Frames FramesOf(const std::vector<std::pair<Row, Row>>& pairs, int bytes);

// Returns 1,024 frames from rows of one list to rows of another. The pairs are mixed, so that all
// links between them are used.
Frames FramesBetween(const std::vector<Row>& from, const std::vector<Row>& to, int bytes);

// Writes a file that net_pcap reads.
absl::Status WritePcap(const std::string& path, const Frames& frames);

// A new directory /tmp/bfly-bench-... . The destructor removes it with all its files.
class BenchDirectory {
 public:
  BenchDirectory();
  ~BenchDirectory();
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;
  // PermissionDenied: it cannot be made.
  absl::Status made() const;
  const std::string& path() const { return path_; }  // empty: it cannot be made

 private:
  std::string path_;
};

}  // namespace bfly::dataplane
