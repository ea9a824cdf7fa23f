// SPDX-License-Identifier: Apache-2.0
// Traces of packets between rows, read from a file.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "dataplane/traffic/trace.h"

namespace bfly::control {

inline constexpr size_t kMaxTracePackets = 1'000'000;
// From the first packet to the last; far below the largest number of nanoseconds in 64 bits.
inline constexpr uint64_t kMaxTraceSeconds = 1'000'000'000;

// The packets of a trace, with times relative to the first packet.
struct TraceFile {
  dataplane::Trace trace;
  uint64_t foreign = 0;  // pcap: frames that are not from a row to a row; they are left out
  uint64_t padded = 0;   // pcap: frames under 64 bytes, which count as 64
};

// CSV has a line "time,row,destination,bytes" for each packet: seconds, two rows, and the length of
// the frame in bytes, 64 to 9018. The first line may name the columns. Empty lines and text behind
// '#' are skipped. Times must not decrease. InvalidArgument lists the first twenty errors with
// their lines; `where` names the text.
absl::StatusOr<TraceFile> TraceFromCsv(absl::string_view text, uint32_t rows,
                                       const std::string& where);

// Reads a capture file (pcap or pcapng) of Ethernet frames with libpcap: a frame from
// 02:bf:00:RR:RR:RR to 02:bf:00:SS:SS:SS goes from row RRRRRR to row SSSSSS. Reads any other file
// as CSV, also from a pipe. NotFound: the file cannot be opened. InvalidArgument names the wrong
// line or packet, such as one with a row outside the network.
absl::StatusOr<TraceFile> ReadTraceFile(const std::string& path, uint32_t rows);

}  // namespace bfly::control
