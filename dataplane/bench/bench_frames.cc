// SPDX-License-Identifier: Apache-2.0
#include "dataplane/bench/bench_frames.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "dataplane/frames/mac_address.h"
#include "dataplane/frames/wire_header.h"

namespace bfly::dataplane {
namespace {

constexpr uint32_t kFrames = 1024;
constexpr int kIpv4HeaderBytes = 20;

std::vector<uint8_t> FrameOf(Row from, Row to, int bytes) {
  std::vector<uint8_t> frame(static_cast<size_t>(bytes));
  StoreMac(frame.data(), RowMac(to));
  StoreMac(frame.data() + 6, RowMac(from));
  frame[12] = 0x08;
  uint8_t* const ip = frame.data() + kEthernetBytes;
  constexpr uint32_t kTenSlash8 = 10u << 24;
  ip[0] = 0x45;
  StoreBe16(ip + 2, static_cast<uint16_t>(bytes - kEthernetBytes));
  ip[8] = 64;   // time to live
  ip[9] = 253;  // a protocol for experiments (RFC 3692), without ports
  StoreBe32(ip + 12, kTenSlash8 | from);
  StoreBe32(ip + 16, kTenSlash8 | to);
  uint32_t sum = 0;
  for (int i = 0; i < kIpv4HeaderBytes; i += 2) sum += LoadBe16(ip + i);
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  StoreBe16(ip + 10, static_cast<uint16_t>(~sum));
  return frame;
}

}  // namespace

std::vector<Row> ConsecutiveRows(Row from, uint32_t count) {
  std::vector<Row> rows(count);
  std::iota(rows.begin(), rows.end(), from);
  return rows;
}

Frames FramesOf(const std::vector<std::pair<Row, Row>>& pairs, int bytes) {
  Frames frames;
  for (uint32_t i = 0; i < kFrames; ++i) {
    // The multiplier is odd and mixes the pairs; its value has no other meaning.
    const auto [from, to] = pairs[i * 2654435761u % pairs.size()];
    frames.push_back(FrameOf(from, to, bytes));
  }
  return frames;
}

Frames FramesBetween(const std::vector<Row>& from, const std::vector<Row>& to, int bytes) {
  const auto sources = static_cast<uint32_t>(from.size());
  const auto targets = static_cast<uint32_t>(to.size());
  Frames frames;
  for (uint32_t i = 0; i < kFrames; ++i) {
    // The multipliers are odd and mix the pairs; their values have no other meaning.
    frames.push_back(
        FrameOf(from[(i * 40503u + i / targets) % sources], to[i * 2654435761u % targets], bytes));
  }
  return frames;
}

absl::Status WritePcap(const std::string& path, const Frames& frames) {
  std::ofstream file(path, std::ios::binary);
  const auto put = [&file](auto number) {
    file.write(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  // pcap 2.4, in this machine's byte order; microseconds, Ethernet.
  put(uint32_t{0xa1b2c3d4});
  put(uint16_t{2});
  put(uint16_t{4});
  put(uint64_t{0});
  put(uint32_t{65535});
  put(uint32_t{1});
  for (const auto& frame : frames) {
    put(uint64_t{0});
    put(static_cast<uint32_t>(frame.size()));
    put(static_cast<uint32_t>(frame.size()));
    file.write(reinterpret_cast<const char*>(frame.data()),
               static_cast<std::streamsize>(frame.size()));
  }
  file.close();
  return file ? absl::OkStatus()
              : absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
}

BenchDirectory::BenchDirectory() {
  std::string name = std::filesystem::temp_directory_path() / "bfly-bench-XXXXXX";
  if (mkdtemp(name.data()) != nullptr) path_ = name;
}

absl::Status BenchDirectory::made() const {
  if (!path_.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("cannot make a directory in ", std::filesystem::temp_directory_path().string()));
}

BenchDirectory::~BenchDirectory() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace bfly::dataplane
