// SPDX-License-Identifier: Apache-2.0
// Traces of packets between rows, from a file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/traffic/trace.h"

namespace bfly::control {

inline constexpr size_t kMaxTracePackets = 1'000'000;

// A trace's packets, their times counted from the first one's.
struct TraceFile {
  dataplane::Trace trace;
  uint64_t foreign = 0;  // pcap: frames that do not go from row to row, left out
  uint64_t padded = 0;   // pcap: frames under 64 bytes, which count as 64
};

// CSV has a line "time,row,destination,bytes" for each packet: seconds, two rows, and the length of
// the frame in bytes, 64 to 9018. The first line may name the columns; empty lines and what follows
// '#' are skipped. Times must not go back. InvalidArgument lists every error with its line, the
// first twenty of them; `where` names the text.
absl::StatusOr<TraceFile> TraceFromCsv(absl::string_view text, uint32_t rows,
                                       const std::string& where);

// A capture file (pcap or pcapng) of Ethernet frames is read with libpcap: a frame from
// 02:bf:00:RR:RR:RR to 02:bf:00:SS:SS:SS goes from row RRRRRR to row SSSSSS. Anything else is CSV.
// NotFound: it cannot be opened. InvalidArgument names the line or packet, such as a row outside
// the network.
absl::StatusOr<TraceFile> ReadTraceFile(const std::string& path, uint32_t rows);

}  // namespace bfly::control
