// SPDX-License-Identifier: Apache-2.0
#include <pcap/pcap.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "control/trace_file/trace_file.h"
#include "dataplane/frames/mac_address.h"

namespace bfly::control {
namespace {

constexpr uint32_t kMinBytes = 64;
constexpr uint32_t kMaxBytes = 9018;
constexpr size_t kAddressBytes = 12;  // destination and source MAC address
// From 1970 on. The number of its nanoseconds fits 64 bits.
constexpr int64_t kLatestSecond = 9'000'000'000;
constexpr size_t kMaxCsvBytes = 64u << 20;  // far more than the most packets take

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

// True for pcap in either byte order, with micro- or nanoseconds, and for pcapng.
bool IsCapture(const uint8_t* magic) {
  constexpr uint32_t kMagics[] = {0xa1b2c3d4, 0xd4c3b2a1, 0xa1b23c4d, 0x4d3cb2a1, 0x0a0d0d0a};
  uint32_t word = 0;
  std::memcpy(&word, magic, sizeof(word));
  return std::find(std::begin(kMagics), std::end(kMagics), word) != std::end(kMagics);
}

// The classic format has 32 unsigned bits for the seconds, which libpcap reads as signed ones.
int64_t SecondOf(const pcap_pkthdr& header, bool classic) {
  return classic ? static_cast<uint32_t>(header.ts.tv_sec) : header.ts.tv_sec;
}

// Adds the frame to the trace, or counts it as foreign. The error says what is wrong with the
// frame.
absl::Status AddFrame(const pcap_pkthdr& header, int64_t second, const uint8_t* bytes,
                      uint32_t rows, const std::string& where, TraceFile& file) {
  const dataplane::MacAddress to = header.caplen >= kAddressBytes ? dataplane::LoadMac(bytes) : 0;
  const dataplane::MacAddress from =
      header.caplen >= kAddressBytes ? dataplane::LoadMac(bytes + 6) : 0;
  if (!dataplane::IsRowMac(to) || !dataplane::IsRowMac(from)) {
    ++file.foreign;
    return absl::OkStatus();
  }
  const Row row = dataplane::RowOfMac(from);
  const Row destination = dataplane::RowOfMac(to);
  for (const Row r : {row, destination}) {
    if (r < rows) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(where, r == row ? "row: " : "destination: ", r, " is outside 0..", rows - 1));
  }
  if (header.len > kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "bytes: ", header.len, " is above ", kMaxBytes));
  }
  if (file.trace.size() == kMaxTracePackets) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "a trace has at most ", kMaxTracePackets, " packets"));
  }
  if (second < 0 || second > kLatestSecond) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, "time: ", second, " is not in 0..", kLatestSecond, " seconds"));
  }
  if (header.len < kMinBytes) ++file.padded;
  // tv_usec holds nanoseconds, because the file was opened with that precision.
  file.trace.push_back({.nanoseconds = static_cast<uint64_t>(second) * 1'000'000'000 +
                                       static_cast<uint64_t>(header.ts.tv_usec),
                        .row = row,
                        .destination = destination,
                        .bytes = std::max<uint32_t>(header.len, kMinBytes)});
  return absl::OkStatus();
}

absl::StatusOr<TraceFile> ReadCapture(File stream, uint32_t rows, const std::string& path) {
  char error[PCAP_ERRBUF_SIZE] = "";
  const std::unique_ptr<pcap_t, void (*)(pcap_t*)> capture(
      pcap_fopen_offline_with_tstamp_precision(stream.get(), PCAP_TSTAMP_PRECISION_NANO, error),
      pcap_close);
  if (capture == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", error));
  }
  stream.release();  // pcap_close closes it
  if (pcap_datalink(capture.get()) != DLT_EN10MB) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": its frames are not Ethernet but ",
                     pcap_datalink_val_to_name(pcap_datalink(capture.get()))));
  }
  const bool classic = pcap_major_version(capture.get()) != 1;  // pcapng has version 1
  TraceFile file;
  pcap_pkthdr* header = nullptr;
  const uint8_t* bytes = nullptr;
  int read = 0;
  uint64_t latest = 0, latest_packet = 0;
  for (uint64_t packet = 1; (read = pcap_next_ex(capture.get(), &header, &bytes)) == 1; ++packet) {
    const absl::Status status = AddFrame(*header, SecondOf(*header, classic), bytes, rows,
                                         absl::StrCat(path, ": packet ", packet, ": "), file);
    if (!status.ok()) return status;
    if (!file.trace.empty() && file.trace.back().nanoseconds > latest) {
      latest = file.trace.back().nanoseconds;
      latest_packet = packet;
    }
  }
  if (read == PCAP_ERROR) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", pcap_geterr(capture.get())));
  }
  if (file.trace.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": none of its ", file.foreign,
                     " frames goes from row to row, 02:bf:00:RR:RR:RR to 02:bf:00:RR:RR:RR"));
  }
  // Captures of several queues may be a little out of order.
  std::stable_sort(file.trace.begin(), file.trace.end(),
                   [](const auto& a, const auto& b) { return a.nanoseconds < b.nanoseconds; });
  const uint64_t first = file.trace.front().nanoseconds;
  if (latest - first > kMaxTraceSeconds * 1'000'000'000) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": packet ", latest_packet,
                                                   ": time: more than ", kMaxTraceSeconds,
                                                   " seconds after the first packet"));
  }
  for (dataplane::TracePacket& packet : file.trace) packet.nanoseconds -= first;
  return file;
}

}  // namespace

absl::StatusOr<TraceFile> ReadTraceFile(const std::string& path, uint32_t rows) {
  File stream(std::fopen(path.c_str(), "rb"), std::fclose);
  const auto failed = [&](const char* what) {
    return absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno));
  };
  if (stream == nullptr) return absl::NotFoundError(failed("open"));
  uint8_t magic[4] = {};
  const size_t got = std::fread(magic, 1, sizeof(magic), stream.get());
  if (std::ferror(stream.get())) return absl::InvalidArgumentError(failed("read"));
  if (got == sizeof(magic) && IsCapture(magic)) {
    if (std::fseek(stream.get(), 0, SEEK_SET) != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": a capture is read from a file, not from a pipe; write it to a file first"));
    }
    return ReadCapture(std::move(stream), rows, path);
  }
  std::string text(reinterpret_cast<const char*>(magic), got);
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof(block), stream.get())) {
    text.append(block, n);
    if (text.size() > kMaxCsvBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": longer than ", kMaxCsvBytes, " bytes"));
    }
  }
  if (std::ferror(stream.get())) return absl::InvalidArgumentError(failed("read"));
  return TraceFromCsv(text, rows, path);
}

}  // namespace bfly::control
